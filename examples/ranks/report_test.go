package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/nemo-lens/lens/examples/internal/children"
)

func timed(name string, rank, step int, d time.Duration) span {
	start := time.Unix(1000, 0)
	return span{children.Span{Name: name, Trace: "t", ID: fmt.Sprint(name, rank, step), Start: start, End: start.Add(d)}, rank, step}
}

func TestSlowest(t *testing.T) {
	t.Parallel()
	got := slowest([]span{
		timed(spanForwardBackward, 0, 1, 2*time.Millisecond), timed(spanAllReduce, 0, 1, 7*time.Millisecond),
		timed(spanForwardBackward, 1, 1, 9*time.Millisecond), timed(spanAllReduce, 1, 1, time.Millisecond),
		timed(spanForwardBackward, 2, 1, 3*time.Millisecond), timed(spanAllReduce, 2, 1, 6*time.Millisecond),
		timed(spanForwardBackward, 0, 2, 5*time.Millisecond),
		timed(spanForwardBackward, 1, 2, 4*time.Millisecond),
		timed(spanForwardBackward, 1, 3, time.Millisecond), // alone, so nothing to compare
		timed(spanStep, 0, 1, time.Hour),
	})
	assert.Equal(t, []laggard{
		{step: 1, rank: 1, compute: 9 * time.Millisecond, others: 3 * time.Millisecond, waiting: 7 * time.Millisecond},
		{step: 2, rank: 0, compute: 5 * time.Millisecond, others: 4 * time.Millisecond},
	}, got)
	assert.Empty(t, slowest(nil))
}

func TestDriftedRanksAreFound(t *testing.T) {
	t.Parallel()
	assert.NoError(t, sameModel([]result{{Weights: "a"}, {Weights: "a"}}))
	assert.ErrorContains(t, sameModel([]result{{Weights: "a"}, {Weights: "a"}, {Weights: "b"}}), "rank 2 ended with the weights b")
}
