package operations

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
)

const drive = "gym.concurrency.queue_wait_duration_ms{nemo.gym.concurrency.site=rollout_driver}"

func TestSemaphoreSerialises(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	s := NewSemaphore(1, "rollout_driver", m.waits(t), nil)
	start := time.Now()
	require.NoError(t, s.Acquire(background))
	entered := make(chan error)
	began := time.Now()
	go func() { entered <- s.Acquire(background) }()
	select {
	case <-entered:
		t.Fatal("two were in at once")
	case <-time.After(20 * time.Millisecond):
	}
	s.Release()
	require.NoError(t, <-entered)
	elapsed := time.Since(began)
	first := milliseconds(began.Sub(start))
	s.Release()
	points, sums := m.collect(t)
	assert.Equal(t, map[string]int64{drive: 2}, points, "the one that did not wait counts too")
	assert.Positive(t, sums[drive])
	assert.LessOrEqual(t, sums[drive], first+milliseconds(elapsed))
}

func TestSemaphoreNeverLetsInMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	const n = 3
	s := NewSemaphore(n, "x", nil, nil)
	var now, peak atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 20 {
				assert.NoError(t, s.Acquire(background))
				in := now.Add(1)
				for old := peak.Load(); in > old && !peak.CompareAndSwap(old, in); old = peak.Load() {
				}
				now.Add(-1)
				s.Release()
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, peak.Load(), int64(n))
}

func TestNoLimitDoesNothing(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for _, n := range []int{0, -1} {
		s := NewSemaphore(n, "x", m.waits(t), nil)
		assert.Nil(t, s)
		for range 100 {
			require.NoError(t, s.Acquire(background))
		}
		s.Release()
	}
	points, _ := m.collect(t)
	assert.Empty(t, points)
}

func TestSemaphoreRecordsOnlyWhileEnabled(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	var on atomic.Bool
	s := NewSemaphore(2, "rollout_driver", m.waits(t), on.Load)
	require.NoError(t, s.Acquire(background))
	points, _ := m.collect(t)
	assert.Empty(t, points)
	on.Store(true)
	require.NoError(t, s.Acquire(background))

	// Full: a wait without success is no point.
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Acquire(ctx), context.DeadlineExceeded)
	on.Store(false)
	require.ErrorIs(t, s.Acquire(ctx), context.DeadlineExceeded)
	points, _ = m.collect(t)
	assert.Equal(t, map[string]int64{drive: 1}, points)
	s.Release()
	s.Release()
	assert.Panics(t, s.Release, "nobody is in")
}

type brokenHistogram struct{ metric.Float64Histogram }

func (brokenHistogram) Record(context.Context, float64, ...metric.RecordOption) { panic("broken") }

func TestBrokenRecorderDoesNotKeepAnyoneOut(t *testing.T) {
	t.Parallel()
	s := NewSemaphore(1, "x", &Waits{brokenHistogram{}}, nil)
	require.NoError(t, s.Acquire(background))
	s.Release()
}
