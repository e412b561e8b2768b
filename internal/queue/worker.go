package queue

import (
	"context"
	"time"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// work is the goroutine that calls the exporter, until the queue is drained or given
// up.
func (q *Queue[T]) work() {
	ended := false
	defer func() {
		if !ended { // the exporter ended the goroutine with runtime.Goexit
			go q.work()
		}
	}()
	for {
		q.mu.Lock()
		c := q.take()
		for c == nil && !q.stopping {
			q.sleep()
			c = q.take()
		}
		q.mu.Unlock()
		if c == nil {
			break
		}
		q.exportChunk(c)
	}
	q.delay.Stop()
	close(q.drained)
	ended = true
}

// take returns the next batch if it is time for one, and nil otherwise. q.mu is held.
func (q *Queue[T]) take() *chunk[T] {
	n := len(q.oldest())
	switch {
	case n == 0:
		q.due, q.dueAt = false, time.Time{}
		return nil
	case n == q.batch:
	case q.due, q.stopping, q.flushTo > q.taken, q.waiting >= q.early:
		q.due, q.dueAt = false, time.Time{} // it was the last one
	default:
		return nil
	}
	c := q.pop()
	q.inflight = n
	q.madeRoom()
	return c
}

// sleep waits until take may have something. q.mu is held, and released meanwhile.
func (q *Queue[T]) sleep() {
	if q.waiting == 0 {
		q.wakeAt, q.awake = 1, false
		q.delay.Stop()
	} else {
		q.wakeAt, q.awake = q.early, false
		if q.dueAt.IsZero() {
			q.dueAt = time.Now().Add(q.cfg.Delay)
		}
		q.delay.Reset(time.Until(q.dueAt))
	}
	q.mu.Unlock()
	select {
	case <-q.wake:
	case <-q.delay.C:
	}
	q.mu.Lock()
	q.wakeAt, q.awake = q.yieldAt, true
	q.due = !q.dueAt.IsZero() && !time.Now().Before(q.dueAt)
}

// exportChunk calls the exporter and counts, whichever way the call ends.
func (q *Queue[T]) exportChunk(c *chunk[T]) {
	total := len(c.items)
	lost, err, returned := total, error(nil), false
	defer func() {
		q.exporting.Store(false)
		if !returned {
			err = outcome.Escaped(q.cfg.Exporter, recover())
			c = nil // who knows who still has it
		}
		q.mu.Lock()
		q.settle(total, lost, err)
		if c != nil {
			q.recycle(c)
		}
		q.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(q.end.Context(), q.cfg.ExportTimeout)
	defer cancel()
	q.exporting.Store(true)
	err = q.export(ctx, c.items)
	q.exporting.Store(false)
	lost = outcome.Lost(err, total)
	returned = true
	clear(c.items)
	c.items = c.items[:0]
}

// settle counts a batch that came back. q.mu is held.
func (q *Queue[T]) settle(total, lost int, err error) {
	if q.finished { // without it: it has been counted as failed
		return
	}
	q.inflight = 0
	q.exported += uint64(total - lost)
	q.failed += uint64(lost)
	if lost > 0 {
		q.cause = err
		q.noteLoss()
	}
	q.releaseFlushers()
}

// noteLoss has OnLoss called. q.mu is held.
func (q *Queue[T]) noteLoss() {
	if q.cfg.OnLoss == nil || q.lossPending {
		return
	}
	q.lossPending = true
	q.lossy <- struct{}{} // never waits: pending is false only when it is empty
}

// tell is the goroutine that calls OnLoss. The worker cannot: it may be inside an
// exporter for a long time while items are being dropped.
func (q *Queue[T]) tell() {
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
		loss := q.loss(q.counts, counts{}, nil)
		q.mu.Unlock()
		q.callOnLoss(loss)
		pause.Reset(time.Second)
		select {
		case <-pause.C:
		case <-done:
			return
		}
		q.mu.Lock()
		q.lossPending = false
		if q.lost() != loss.Lost() {
			q.noteLoss()
		}
		q.mu.Unlock()
	}
}

func (q *Queue[T]) callOnLoss(loss *outcome.LossError) {
	defer func() { _ = recover() }() // the application's callback must not end the application
	q.cfg.OnLoss(loss)
}
