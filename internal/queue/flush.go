package queue

import (
	"context"
	"fmt"
	"slices"
)

// flusher waits until everything below a position of the queue has left it.
type flusher struct {
	upTo uint64
	done chan struct{}
}

// Flush hands everything that was put in before the call to the exporter and waits
// for the outcome, at most until ctx is done. The error is or wraps a
// *[outcome.LossError] when items were lost since the last report, that is since the
// last Flush that had returned when this one was called. It wraps ctx's error when
// items still wait; they stay queued.
func (q *Queue[T]) Flush(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	base, upTo := q.reported, q.accepted()
	var unfinished error
	if q.gone() < upTo {
		f := flusher{upTo, make(chan struct{})}
		q.flushers = append(q.flushers, f)
		q.flushTo = max(q.flushTo, upTo)
		q.mu.Unlock()
		q.signal()
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		q.mu.Lock()
		if n := q.gone(); n < upTo {
			q.flushers = slices.DeleteFunc(q.flushers, func(o flusher) bool { return o == f })
			unfinished = fmt.Errorf("lens: flush: %d %s not exported yet%s: %w", upTo-n, q.cfg.What, q.to(), ctx.Err())
		}
	}
	err := q.lossAnd(base, unfinished)
	q.reported = q.counts
	return err
}

// to names the endpoint.
func (q *Queue[T]) to() string {
	if q.cfg.Endpoint == "" {
		return ""
	}
	return " to " + q.cfg.Endpoint
}

// gone is the position up to which items have left the queue and the exporter. q.mu
// is held.
func (q *Queue[T]) gone() uint64 { return q.taken - uint64(q.inflight) }

// releaseFlushers lets go those that have what they wait for. q.mu is held.
func (q *Queue[T]) releaseFlushers() {
	q.flushers = slices.DeleteFunc(q.flushers, func(f flusher) bool {
		if q.gone() < f.upTo {
			return false
		}
		close(f.done)
		return true
	})
}
