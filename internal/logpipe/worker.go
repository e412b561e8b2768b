package logpipe

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/ending"
	"github.com/nemo-lens/lens/internal/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/outcome"
)

// work is the goroutine that hands batches to the exporter, until the queue is
// drained or given up.
func (q *queue) work() {
	defer close(q.drained)
	delay := time.NewTimer(q.cfg.Delay)
	defer delay.Stop()
	var dueAt time.Time // zero: no record waits
	for {
		q.mu.Lock()
		if q.waiting == 0 {
			dueAt = time.Time{}
		} else if dueAt.IsZero() {
			dueAt = time.Now().Add(q.cfg.Delay)
		}
		c := q.take(!dueAt.IsZero() && !time.Now().Before(dueAt))
		ended := q.finished || q.stopping && c == nil
		q.mu.Unlock()
		switch {
		case ended:
			return
		case c != nil:
			q.export(c)
			dueAt = time.Time{}
			continue
		case dueAt.IsZero():
			delay.Stop()
		default:
			delay.Reset(time.Until(dueAt))
		}
		select {
		case <-q.wake:
		case <-delay.C:
		}
	}
}

// take returns the next batch if it is time for one, and nil otherwise. q.mu is held.
func (q *queue) take(due bool) *chunk {
	if q.waiting == 0 || !due && !q.stopping && q.waiting < q.early && q.flushTo <= q.taken {
		return nil
	}
	c := q.pop()
	q.inflight = len(c.records)
	q.madeRoom()
	return c
}

// export sends a batch and counts.
func (q *queue) export(c *chunk) {
	q.repair(c.records)
	ctx, cancel := context.WithTimeout(reentry.Mark(q.end.Context()), q.cfg.ExportTimeout)
	defer cancel()
	s := sending{queue: q, ctx: ctx}
	s.send(c.records)
	q.settle(len(c.records), s)
	// The program's own logger may export through this very queue.
	reentry.Do(func() {
		switch {
		case s.lost > 0: // tell's business
		case s.err != nil:
			q.log.Warn("log export warning", "lens: log records were exported, with a warning", "error", outcome.Text(s.err))
		default:
			q.log.Recovered(lossKind, "lens: log records are exported again", "endpoint", q.endpoint)
		}
	})
	if s.away {
		return // the exporter still has it
	}
	clear(c.records)
	c.records = c.records[:0]
	q.mu.Lock()
	if len(q.spares) < keepChunks {
		q.spares = append(q.spares, c)
	}
	q.mu.Unlock()
}

// sending is the state of one batch on its way.
type sending struct {
	*queue
	ctx  context.Context
	lost int
	err  error // the last
	away bool  // a call has not come back
}

// send makes a request of records, and two of the halves when the receiver finds it
// too large.
func (s *sending) send(records []sdklog.Record) {
	if s.away || s.err != nil && s.ctx.Err() != nil {
		s.lost += len(records)
		return
	}
	err, returned := outcome.Call(s.end.Context(), fmt.Sprintf("Export of the log exporter %T", s.exp), func() (err error) {
		reentry.Do(func() { err = s.exp.Export(s.ctx, records) })
		return err
	})
	s.away = !returned
	if returned && len(records) > 1 && tooLarge(err) {
		half := len(records) / 2
		s.send(records[:half:half])
		s.send(records[half:])
		return
	}
	if err != nil {
		s.lost += outcome.Lost(err, len(records))
		s.err = err
	}
}

// tooLarge reports whether err says that a smaller request may succeed. The
// library's own exporters know.
func tooLarge(err error) bool {
	var e interface{ TooLarge() bool }
	return errors.As(err, &e) && e.TooLarge()
}

// settle counts a batch that came back.
func (q *queue) settle(total int, s sending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.finished { // without it: it has been counted as failed
		return
	}
	q.inflight = 0
	q.exported += uint64(total - s.lost)
	q.failed += uint64(s.lost)
	if s.lost > 0 {
		q.cause = s.err
		q.noteLoss()
	}
	q.releaseFlushers()
}

// stop makes the queue accept nothing more.
func (q *queue) stop() {
	q.mu.Lock()
	if !q.stopping {
		q.stopping, q.limit = true, 0
		q.room.Broadcast()
	}
	q.mu.Unlock()
	q.signal()
}

// drain waits for the worker to hand over what is left, and shuts the exporter down.
// It returns what was lost in the life of the queue.
func (q *queue) drain(ctx context.Context) error {
	select {
	case <-q.drained:
	case <-ctx.Done(): // the verdict says it
	}
	ctx, cancel := ending.Grace(ctx)
	defer cancel()
	what := fmt.Sprintf("Shutdown of the log exporter %T", q.exp)
	err, _ := outcome.Call(ctx, what, func() (err error) {
		reentry.Do(func() { err = q.exp.Shutdown(reentry.Mark(ctx)) })
		return err
	})
	if err != nil {
		err = fmt.Errorf("lens: shutting down the log exporter: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.finished {
		q.finish()
	}
	return named(q.endpoint, outcome.Both(q.loss(q.counts, counts{}, nil), err))
}

// finish makes the numbers final. q.mu is held.
func (q *queue) finish() {
	q.failed += uint64(q.inflight)
	q.inflight = 0
	q.left += uint64(q.discard())
	q.finished = true
	q.reported = q.counts
	q.budget.Stop()
	q.releaseFlushers()
}

// verdict returns what is lost when no more time is given.
func (q *queue) verdict(timeUp error, final bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if final && !q.finished {
		q.finish()
		q.signal() // it may be asleep
	}
	c := q.counts
	c.left += uint64(q.waiting)
	c.failed += uint64(q.inflight)
	return named(q.endpoint, q.loss(c, counts{}, timeUp))
}

// Shutdown implements sdklog.Processor. The end is the pipeline's, which gives its
// result to every caller.
func (q *queue) Shutdown(context.Context) error { return nil }

const lossKind = "log records lost"

// noteLoss has the loss reported. q.mu is held.
func (q *queue) noteLoss() {
	if q.lossPending {
		return
	}
	q.lossPending = true
	q.lossy <- struct{}{} // never waits: pending is false only when it is empty
}

// tell is the goroutine that reports losses. The worker cannot: it may be inside the
// exporter for a long time while records are being dropped.
func (q *queue) tell() {
	done := q.end.Context().Done()
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for {
		select {
		case <-q.lossy:
		case <-done:
			return
		}
		q.mu.Lock()
		dropped, failed, cause := q.dropped(), q.failed, q.cause
		q.mu.Unlock()
		args := []any{"dropped", dropped, "failed", failed}
		if cause != nil {
			args = append(args, "error", outcome.Text(cause))
		}
		reentry.Do(func() {
			q.log.Warn(lossKind, "lens: log records are being lost on the way to "+q.endpoint, args...)
		})
		pause.Reset(time.Second)
		select {
		case <-pause.C:
		case <-done:
			return
		}
		q.mu.Lock()
		q.lossPending = false
		if q.dropped()+q.failed != dropped+failed {
			q.noteLoss()
		}
		q.mu.Unlock()
	}
}
