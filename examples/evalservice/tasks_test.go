package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write tasks.jsonl anew")

const (
	shippedTasks = 60
	taskSeed     = 1982 // the year the show began
)

// makeTasks is where tasks.jsonl comes from: six number cards as in the show,
// and a target that a random game with some of them leads to.
func makeTasks(n int) (tasks []task) {
	rng := rand.New(rand.NewPCG(taskSeed, 0))
	var cards []int
	for small := 1; small <= 10; small++ {
		cards = append(cards, small, small)
	}
	cards = append(cards, 25, 50, 75, 100)
	for len(tasks) < n {
		rng.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
		t := task{Numbers: append([]int(nil), cards[:6]...)}
		var terms []*term
		for _, number := range t.Numbers {
			terms = append(terms, &term{value: number})
		}
		made := terms[0]
		for range 3 + rng.IntN(3) {
			rng.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
			a, b := terms[0], terms[1]
			if a.value < b.value {
				a, b = b, a
			}
			if x, ok := combine("+-*/"[rng.IntN(4)], a, b); ok {
				made = x
				terms = append(terms[2:], x)
			}
			if len(terms) < 2 {
				break
			}
		}
		if made.value > 100 && made.value < 1000 { // as in the show
			t.Target, t.Solution = made.value, made.String()
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func TestShippedTasks(t *testing.T) {
	t.Parallel()
	var made bytes.Buffer
	enc := json.NewEncoder(&made)
	for _, one := range makeTasks(shippedTasks) {
		require.NoError(t, enc.Encode(one))
	}
	if *update {
		require.NoError(t, os.WriteFile("tasks.jsonl", made.Bytes(), 0o644))
		return
	}
	assert.Equal(t, made.String(), string(tasksJSONL), "run with -update to write the file anew")
	tasks, err := loadTasks(tasksJSONL)
	require.NoError(t, err)
	require.Len(t, tasks, shippedTasks)
	for i, one := range tasks {
		reason, ok := verify(one, one.Solution)
		assert.True(t, ok, "task %d: %s", i, reason)
		read, err := parsePrompt(one.prompt())
		require.NoError(t, err)
		assert.Equal(t, task{Numbers: one.Numbers, Target: one.Target}, read)
		assert.NotContains(t, one.prompt(), one.Solution)
	}
}

func TestLoadTasksNamesTheBadOne(t *testing.T) {
	t.Parallel()
	_, err := loadTasks([]byte("{\"numbers\":[1],\"target\":1}\n{\"nombers\":[1]}\n"))
	assert.ErrorContains(t, err, "task 1")
	for _, prompt := range []string{"", "Make tea", "Make x from the numbers 1. Go", "Make 1 from the numbers a. Go", "Make 1 from the numbers 1, 2, 3, 4, 5, 6, 7, 8, 9. Go"} {
		_, err := parsePrompt(prompt)
		assert.Error(t, err, prompt)
	}
}

// scored solves the tasks in-process, as rollouts would go through them.
func scored(t *testing.T, rollouts int) (right int) {
	t.Helper()
	tasks, err := loadTasks(tasksJSONL)
	require.NoError(t, err)
	for i := range rollouts {
		one := tasks[i%len(tasks)]
		answer, _ := solve(one, uint64(i/len(tasks)))
		if _, ok := verify(one, answer); ok {
			right++
		}
	}
	return right
}

func TestSolverIsDeterministicAndNotPerfect(t *testing.T) {
	t.Parallel()
	first := scored(t, 120)
	assert.Equal(t, first, scored(t, 120))
	t.Log("right:", first, "of 120;", scored(t, 2000), "of 2000")
	tasks, err := loadTasks(tasksJSONL)
	require.NoError(t, err)
	for i, one := range tasks {
		answer, value := solve(one, 7)
		got, used, err := evaluate(answer)
		require.NoError(t, err, answer)
		assert.LessOrEqual(t, len(used), len(one.Numbers))
		assert.Equal(t, strconv.Itoa(value), got.ExactString(), "task %d: %s", i, answer)
		_, ok := verify(one, answer)
		assert.Equal(t, value == one.Target, ok, "task %d", i)
	}
}
