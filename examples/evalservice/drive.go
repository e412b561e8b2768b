package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym"
)

// result is one rollout.
type result struct {
	id     string
	reward float64
	took   time.Duration
	err    error
}

// drive runs the rollouts, so many at once, inside one gym.job span. Each
// rollout is a trace of its own and not a part of the job's, so that a trace
// stays small however long the run is. When ctx ends it stops sending, and
// returns why.
func drive(ctx context.Context, o options, tasks []task, agent peer) (results []result, err error) {
	_, job := gym.JobSpan(ctx)
	defer lens.End(job, &err)
	limit := gym.NewSemaphore(o.concurrency, "rollout_driver")
	results = make([]result, o.rollouts)
	var running sync.WaitGroup
	for i := range results {
		if limit.Acquire(ctx) != nil {
			break
		}
		running.Go(func() {
			defer limit.Release()
			results[i] = rollout(ctx, i, tasks, agent)
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, endedEarly(ctx)
	}
	return results, nil
}

// endedEarly says why ctx ended: a signal, unless a cause was given.
func endedEarly(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		cause = errors.New("interrupted")
	}
	return fmt.Errorf("the run ended early: %w", cause)
}

// rollout runs the i-th rollout: each task once, then each a second time with
// another seed, and so on.
func rollout(ctx context.Context, i int, tasks []task, agent peer) result {
	in := runRequest{TaskIndex: i % len(tasks), RolloutIndex: i / len(tasks), task: tasks[i%len(tasks)]}
	in.Solution = "" // nobody's but the tests'
	r := result{id: fmt.Sprintf("%d-%d", in.TaskIndex, in.RolloutIndex)}
	began := time.Now()
	var out runResponse
	r.err = agent.post(gym.WithRolloutID(ctx, r.id), "/run", in, &out)
	r.took, r.reward = time.Since(began), out.Reward
	end := gym.RolloutResult{Outcome: gym.RolloutScored, Dispatch: agent.name}
	if r.err != nil {
		end.Outcome, end.FailureClass = gym.RolloutFailed, "agent"
	}
	gym.RecordRolloutOutcome(ctx, end)
	return r
}
