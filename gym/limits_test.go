//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

// Case 71 through the group.
func TestMetrics71Semaphore(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Concurrency)
	ctx := context.Background()
	s := NewSemaphore(1, "model.policy_model")
	require.NoError(t, s.Acquire(ctx))
	waited := make(chan error)
	go func() { waited <- s.Acquire(ctx) }()
	select {
	case <-waited:
		t.Error("two are in at once")
	default:
	}
	s.Release()
	require.NoError(t, <-waited)
	const site = "nemo.gym.concurrency.site=model.policy_model"
	assert.EqualValues(t, 2, countOf(m, "gym.concurrency.queue_wait_duration_ms", site))

	lens.SetEnabledSpanGroups(Rollout)
	s.Release()
	require.NoError(t, s.Acquire(ctx))
	assert.EqualValues(t, 2, countOf(m, "gym.concurrency.queue_wait_duration_ms", site), "the group is off")
	other := NewSemaphore(2, "rollout_driver")
	lens.SetEnabledSpanGroups(Concurrency)
	require.NoError(t, other.Acquire(ctx))
	assert.EqualValues(t, 1, countOf(m, "gym.concurrency.queue_wait_duration_ms", "nemo.gym.concurrency.site=rollout_driver"))
	for _, n := range []int{0, -1} {
		none := NewSemaphore(n, "x")
		assert.Nil(t, none)
		require.NoError(t, none.Acquire(ctx))
		none.Release()
	}
}

func TestConcurrencyGroup(t *testing.T) {
	t.Parallel()
	set, err := ResolveSpanGroups("concurrency")
	require.NoError(t, err)
	assert.True(t, set.Has(Concurrency))
	all, err := ResolveSpanGroups("all")
	require.NoError(t, err)
	assert.True(t, all.Has(Concurrency))
	for _, preset := range []string{"default", "per_rollout"} {
		set, err := ResolveSpanGroups(preset)
		require.NoError(t, err)
		assert.False(t, set.Has(Concurrency), preset)
	}
	assert.False(t, SpanGroups.Groups().Has(Concurrency))
}

func TestResourcesOperation(t *testing.T) {
	m := withMetrics(t, "")
	ctx := context.Background()
	limit := NewSemaphore(1, "resources.judge")
	run := func(err error) func(*RunningOperation) error {
		return func(op *RunningOperation) error {
			assert.Equal(t, map[string]float64{"nemo.gym.resources.executor=subprocess,nemo.gym.resources.operation=verify": 1}, m.values("gym.resources.operation.active"))
			return err
		}
	}
	boom := errors.New("boom")
	require.NoError(t, ResourcesOperation(ctx, limit, OperationVerify, ExecutorSubprocess, run(nil)))
	require.ErrorIs(t, ResourcesOperation(ctx, limit, OperationVerify, ExecutorSubprocess, run(boom)), boom)
	outcomes := make(map[any]uint64)
	for _, p := range m.histogram("gym.resources.operation.duration_ms") {
		outcomes[attributesOfSet(p.Attributes)["nemo.gym.resources.outcome"]] += p.Count
	}
	assert.Equal(t, map[any]uint64{"ok": 1, "failed": 1}, outcomes)
}

func TestLimitsWithoutMetrics(t *testing.T) {
	reset(t)
	limit := NewSemaphore(1, "x")
	calls := 0
	boom := errors.New("boom")
	run := func(op *RunningOperation) error {
		op.SetOutcome(OutcomeTimeout)
		calls++
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		err := ResourcesOperation(ctx, limit, OperationTool, ExecutorInline, func(*RunningOperation) error { calls++; return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded, "the limit is held")
		assert.ErrorContains(t, err, "tool operation was not let in")
		return boom
	}
	for range 2 {
		require.ErrorIs(t, ResourcesOperation(context.Background(), limit, OperationVerify, ExecutorInline, run), boom)
	}
	assert.Equal(t, 2, calls)
	require.NoError(t, ResourcesOperation(context.Background(), nil, OperationVerify, ExecutorInline, func(*RunningOperation) error { return nil }))
	assert.Panics(t, func() {
		_ = ResourcesOperation(context.Background(), limit, OperationVerify, ExecutorInline, func(*RunningOperation) error { panic("x") })
	})
	require.NoError(t, limit.Acquire(context.Background()), "a panic leaves the limit")

	m := withMetrics(t, "")
	lenstest.Start(t, Concurrency)
	limit.Release()
	require.NoError(t, limit.Acquire(context.Background()))
	assert.Empty(t, m.all(), "it was made without metrics")
}
