package queue

import (
	"context"
	"fmt"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// Shutdown exports what is queued, closes the exporter and ends the queue's
// goroutines; what is put in from now on is dropped. All callers share the work, as
// the package comment says, and get the same result once it is done: a
// *[outcome.LossError] with the numbers of the whole life of the queue when anything
// was lost, whether or not a flush has reported it before, an error of [Config.Close],
// or nil.
//
// A caller whose ctx is done earlier gets an error that wraps ctx's, and the numbers
// as they are when what is still queued is lost.
func (q *Queue[T]) Shutdown(ctx context.Context) error {
	q.mu.Lock()
	if !q.stopping {
		q.stopping = true
		q.limit = 0 // Put looks at nothing else
		q.room.Broadcast()
	}
	q.mu.Unlock()
	q.signal()
	return q.end.Wait(ctx, q.drain)
}

// drain waits for the worker to hand over what is left, and closes the exporter.
func (q *Queue[T]) drain(ctx context.Context) error {
	select {
	case <-q.drained:
	case <-ctx.Done(): // the verdict says it
	}
	var err error
	if q.cfg.Close != nil {
		ctx, cancel := Grace(ctx)
		defer cancel()
		err, _ = outcome.Call(ctx, "Shutdown of "+q.cfg.Exporter, func() error { return q.cfg.Close(ctx) })
		if err != nil {
			err = fmt.Errorf("lens: shutting down %s: %w", q.cfg.Exporter, err)
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finish()
	return q.lossAnd(counts{}, err)
}

// verdict returns what is lost when no more time is given.
func (q *Queue[T]) verdict(timeUp error, final bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if final {
		q.finish()
	}
	c := q.counts
	c.left += uint64(q.waiting)
	c.failed += uint64(q.inflight)
	if loss := q.loss(c, counts{}, timeUp); loss != nil {
		return loss
	}
	return fmt.Errorf("lens: %s did not shut down in time%s: %w", q.cfg.Exporter, q.to(), timeUp)
}

// finish makes the numbers final. q.mu is held.
func (q *Queue[T]) finish() {
	if q.finished {
		return
	}
	q.finished = true
	q.failed += uint64(q.inflight)
	q.inflight = 0
	q.left += uint64(q.discard())
	q.reported = q.counts
	q.budget.Stop()
	q.releaseFlushers()
}
