package operations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

const (
	where  = "nemo.gym.resources.executor=subprocess,nemo.gym.resources.operation=verify"
	middle = "nemo.gym.resources.executor=subprocess,nemo.gym.resources.operation=verify,nemo.gym.resources.outcome="
)

func TestQueueRunAndOutcome(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	metrics, limit := m.metrics(t), NewSemaphore(1, "x", nil, nil)
	inside, leave := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			assert.NoError(t, metrics.Do(background, limit, Verify, Subprocess, func(*Op) error {
				inside <- struct{}{}
				<-leave
				return nil
			}))
		})
	}
	queued, active := QueuedName+"{"+where+"}", ActiveName+"{"+where+"}"
	<-inside
	require.Eventually(t, func() bool {
		points, _ := m.collect(t)
		return points[queued] == 2 && points[active] == 1
	}, 30*time.Second, time.Millisecond)
	close(leave)
	<-inside
	<-inside
	all.Wait()
	points, _ := m.collect(t)
	assert.Equal(t, map[string]int64{
		QueueDurationName + "{" + where + "}":    3,
		DurationName + "{" + middle + "ok" + "}": 3,
		queued:                                   0,
		active:                                   0,
	}, points)
}

func TestTimesAreThoseOfTheQueueAndOfTheRun(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	limit := slow(15 * time.Millisecond)
	began := time.Now()
	require.NoError(t, m.metrics(t).Do(background, limit, Verify, Subprocess, func(*Op) error {
		<-time.After(30 * time.Millisecond)
		return nil
	}))
	elapsed := milliseconds(time.Since(began))
	_, sums := m.collect(t)
	queue, run := sums[QueueDurationName+"{"+where+"}"], sums[DurationName+"{"+middle+"ok}"]
	assert.GreaterOrEqual(t, queue, 15.0)
	assert.GreaterOrEqual(t, run, 30.0)
	assert.LessOrEqual(t, queue+run, elapsed)
}

// slow is a limiter that takes its time.
type slow time.Duration

func (s slow) Acquire(context.Context) error { <-time.After(time.Duration(s)); return nil }
func (slow) Release()                        {}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		run  func(*Op) error
		want Outcome
	}{
		"nothing":          {func(*Op) error { return nil }, OK},
		"error":            {func(*Op) error { return errors.New("x") }, Failed},
		"deadline":         {func(*Op) error { return fmt.Errorf("x: %w", context.DeadlineExceeded) }, Timeout},
		"i/o timeout":      {func(*Op) error { return fmt.Errorf("x: %w", os.ErrDeadlineExceeded) }, Timeout},
		"canceled":         {func(*Op) error { return fmt.Errorf("x: %w", context.Canceled) }, Canceled},
		"set":              {func(o *Op) error { o.SetOutcome(Crashed); o.SetOutcome(Timeout); return nil }, Timeout},
		"set, then failed": {func(o *Op) error { o.SetOutcome(Crashed); return errors.New("x") }, Crashed},
		"set to anything":  {func(o *Op) error { o.SetOutcome("exit status 137"); return nil }, OtherOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMeter(t)
			var want error
			err := m.metrics(t).Do(background, nil, Verify, Subprocess, func(o *Op) error { want = tc.run(o); return want })
			assert.Equal(t, want, err, "the error is the operation's own")
			points, _ := m.collect(t)
			assert.EqualValues(t, 1, points[DurationName+"{"+middle+string(tc.want)+"}"], points)
		})
	}
}

func TestPanicAndGoexitAreCrashes(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	metrics, limit := m.metrics(t), NewSemaphore(1, "x", nil, nil)
	assert.PanicsWithValue(t, "boom", func() {
		_ = metrics.Do(background, limit, Verify, Subprocess, func(*Op) error { panic("boom") })
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = metrics.Do(background, limit, Verify, Subprocess, func(*Op) error { runtime.Goexit(); return nil })
	}()
	<-ended
	require.NoError(t, limit.Acquire(background), "the limit is free again")
	points, _ := m.collect(t)
	assert.EqualValues(t, 2, points[DurationName+"{"+middle+"crashed}"])
	assert.Zero(t, points[ActiveName+"{"+where+"}"])
	assert.Zero(t, points[QueuedName+"{"+where+"}"])
}

type panicking struct{}

func (panicking) Acquire(context.Context) error { panic("limiter") }
func (panicking) Release()                      { panic("released without being let in") }

func TestGivingUpInTheQueue(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	metrics, limit := m.metrics(t), NewSemaphore(1, "x", nil, nil)
	require.NoError(t, limit.Acquire(background))
	ctx, cancel := context.WithCancel(background)
	cancel()
	err := metrics.Do(ctx, limit, Verify, Subprocess, func(*Op) error { t.Error("it ran"); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "lens: verify operation was not let in")
	assert.PanicsWithValue(t, "limiter", func() {
		_ = metrics.Do(ctx, panicking{}, Verify, Subprocess, func(*Op) error { return nil })
	})
	points, _ := m.collect(t)
	assert.Equal(t, map[string]int64{
		QueueDurationName + "{" + where + "}": 2,
		QueuedName + "{" + where + "}":        0,
	}, points, "what did not run has no outcome")
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	metrics := m.metrics(t)
	for _, o := range []Operation{Verify, Tool, Judge, OtherOperation, "/v1/run/123"} {
		for _, e := range []Executor{Inline, Thread, Process, Subprocess, OtherExecutor, "host-17"} {
			require.NoError(t, metrics.Do(background, nil, o, e, func(*Op) error { return nil }))
		}
	}
	points, _ := m.collect(t)
	assert.Len(t, points, 4*4*5, "four instruments, four operations, five executors")
	assert.EqualValues(t, 4, points[QueueDurationName+"{nemo.gym.resources.executor=other,nemo.gym.resources.operation=other}"])
}

func TestWithoutMetricsOnlyTheLimiterIsEntered(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	off, err := NewMetrics(m.provider.Meter("test"), func() bool { return false })
	require.NoError(t, err)
	for _, metrics := range []*Metrics{nil, off} {
		limit := NewSemaphore(1, "x", nil, nil)
		require.NoError(t, metrics.Do(background, limit, Verify, Inline, func(*Op) error {
			ctx, cancel := context.WithTimeout(background, time.Millisecond)
			defer cancel()
			require.ErrorIs(t, limit.Acquire(ctx), context.DeadlineExceeded)
			return nil
		}))
		require.NoError(t, limit.Acquire(background))
	}
	require.NoError(t, (*Metrics)(nil).Do(background, (*Semaphore)(nil), Verify, Inline, func(*Op) error { return nil }))
	points, _ := m.collect(t)
	assert.Empty(t, points)
}

type brokenCounter struct{ metric.Int64UpDownCounter }

func (brokenCounter) Add(context.Context, int64, ...metric.AddOption) { panic("broken") }

func TestBrokenRecordersDoNotTouchTheOperation(t *testing.T) {
	t.Parallel()
	metrics := &Metrics{queue: brokenHistogram{}, duration: brokenHistogram{}, queued: brokenCounter{}, running: brokenCounter{}}
	ran := false
	require.NoError(t, metrics.Do(background, nil, Verify, Inline, func(*Op) error { ran = true; return nil }))
	assert.True(t, ran)
}

// refusing is a meter that creates nothing.
type refusing struct{ noop.Meter }

var errRefused = errors.New("refused")

func (refusing) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, errRefused
}

func (refusing) Int64UpDownCounter(string, ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	return noop.Int64UpDownCounter{}, errRefused
}

func TestBrokenMeterIsAnError(t *testing.T) {
	t.Parallel()
	_, err := NewMetrics(refusing{}, nil)
	require.ErrorIs(t, err, errRefused)
	for _, name := range []string{QueueDurationName, DurationName, QueuedName, ActiveName} {
		require.ErrorContains(t, err, "lens: create "+name)
	}
	_, err = NewWaits(refusing{})
	require.ErrorIs(t, err, errRefused)
	_, err = NewMetrics(nil, nil)
	require.Error(t, err)
	_, err = NewWaits(nil)
	require.Error(t, err)
}

func TestCostWhenOff(t *testing.T) {
	limit := NewSemaphore(1, "x", nil, nil)
	if n := testing.AllocsPerRun(100, func() {
		_ = limit.Acquire(background)
		limit.Release()
	}); n != 0 {
		t.Errorf("a plain semaphore costs %v allocations, want none", n)
	}
	run := func(*Op) error { return nil }
	var off *Metrics
	if n := testing.AllocsPerRun(100, func() { _ = off.Do(background, limit, Verify, Inline, run) }); n > 1 {
		t.Errorf("an unmeasured operation costs %v allocations, want at most that of its Op", n)
	}
}
