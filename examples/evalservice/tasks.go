package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
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
	numbers := strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Numbers), "[]"), " ", ", ")
	return fmt.Sprintf("Make %d from the numbers %s. Use each at most once, with + - * / and parentheses.", t.Target, numbers)
}

var promptForm = regexp.MustCompile(`^Make (\d+) from the numbers (\d+(?:, \d+){0,7})\.`)

// parsePrompt is how the model understands it, which takes up to eight numbers.
func parsePrompt(text string) (t task, err error) {
	m := promptForm.FindStringSubmatch(text)
	if m == nil {
		return t, errors.New("the prompt asks for nothing that this model can do")
	}
	err = json.Unmarshal([]byte(fmt.Sprintf(`{"target": %s, "numbers": [%s]}`, m[1], m[2])), &t)
	return t, err
}
