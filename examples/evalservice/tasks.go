package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The tasks were made for this example, by the generator in tasks_test.go, and
// are under the license of this repository.
//
//go:embed tasks.jsonl
var tasksJSONL []byte

// task is a round of the number game of the television show Countdown: make
// the target from the numbers, each used at most once.
type task struct {
	Numbers []int `json:"numbers"`
	Target  int   `json:"target"`

	// Solution is one that the generator knows. No server sees it.
	Solution string `json:"solution,omitempty"`
}

// loadTasks reads a JSON object a line.
func loadTasks(text []byte) ([]task, error) {
	var tasks []task
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	for {
		var t task
		err := dec.Decode(&t)
		if errors.Is(err, io.EOF) {
			return tasks, nil
		}
		if err != nil {
			return nil, fmt.Errorf("tasks.jsonl: task %d: %w", len(tasks), err)
		}
		tasks = append(tasks, t)
	}
}

// prompt is the task as the model reads it.
func (t task) prompt() string {
	numbers := make([]string, len(t.Numbers))
	for i, n := range t.Numbers {
		numbers[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("Make %d from the numbers %s. Use each at most once, with + - * / and parentheses.",
		t.Target, strings.Join(numbers, ", "))
}

// parsePrompt is how the model understands it.
func parsePrompt(text string) (t task, err error) {
	var numbers string
	target, rest, ok := strings.Cut(strings.TrimPrefix(text, "Make "), " from the numbers ")
	if ok {
		numbers, _, ok = strings.Cut(rest, ". ")
	}
	if !ok {
		return t, errors.New("the prompt asks for nothing that this model can do")
	}
	if t.Target, err = strconv.Atoi(target); err != nil {
		return t, fmt.Errorf("the target: %w", err)
	}
	for field := range strings.SplitSeq(numbers, ", ") {
		n, err := strconv.Atoi(field)
		if err != nil {
			return t, fmt.Errorf("the numbers: %w", err)
		}
		t.Numbers = append(t.Numbers, n)
	}
	if len(t.Numbers) > maxNumbers {
		return t, fmt.Errorf("%d numbers: this model can take %d", len(t.Numbers), maxNumbers)
	}
	return t, nil
}

// maxNumbers bounds what one request can make the solver do.
const maxNumbers = 8
