package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nemo-lens/lens/internal/errlog"
)

// work is the goroutine that calls the exporter.
func (p *Processor) work() {
	finished := false
	defer func() {
		// The exporter ended the goroutine with runtime.Goexit.
		if !finished {
			go p.work()
		}
	}()
	for {
		p.mu.Lock()
		c := p.take()
		for c == nil && !p.stopping {
			p.sleep()
			c = p.take()
		}
		p.mu.Unlock()
		if c == nil {
			break
		}
		p.exportChunk(c)
	}
	p.delay.Stop()
	p.finish(p.shutdownExporter())
	finished = true
}

// take returns the next batch if it is time for one, and nil otherwise. p.mu is
// held.
func (p *Processor) take() *chunk {
	n := len(p.oldest())
	switch {
	case n == 0:
		p.due, p.dueAt = false, time.Time{}
		return nil
	case n == p.batch:
	case p.due, p.stopping, p.flushTo > p.taken, p.waiting >= p.early:
		p.due, p.dueAt = false, time.Time{} // it was the last one
	default:
		return nil
	}
	c := p.pop()
	p.inflight = n
	p.madeRoom()
	return c
}

// sleep waits until take may have something. p.mu is held, and released meanwhile.
func (p *Processor) sleep() {
	if p.waiting == 0 {
		p.wakeAt, p.awake = 1, false
		p.delay.Stop()
	} else {
		p.wakeAt, p.awake = p.early, false
		if p.dueAt.IsZero() {
			p.dueAt = time.Now().Add(p.cfg.Delay)
		}
		p.delay.Reset(time.Until(p.dueAt))
	}
	p.mu.Unlock()
	select {
	case <-p.wake:
	case <-p.delay.C:
	}
	p.mu.Lock()
	p.wakeAt, p.awake = p.yieldAt, true
	p.due = !p.dueAt.IsZero() && !time.Now().Before(p.dueAt)
}

// exportChunk calls the exporter and counts, whichever way the call ends.
func (p *Processor) exportChunk(c *chunk) {
	total := len(c.spans)
	lost, err, returned := total, error(nil), false
	defer func() {
		p.exporting.Store(false)
		if !returned {
			err = p.escaped("ExportSpans", recover())
			c = nil // who knows who still has it
		}
		p.mu.Lock()
		p.settle(total, lost, err)
		if c != nil {
			p.recycle(c)
		}
		p.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.ExportTimeout)
	defer cancel()
	p.exporting.Store(true)
	err = p.exp.ExportSpans(ctx, c.spans)
	p.exporting.Store(false)
	lost = lostOf(err, total)
	returned = true
	clear(c.spans)
	c.spans = c.spans[:0]
}

// escaped describes a call that did not return. recovered is nil for runtime.Goexit.
func (p *Processor) escaped(call string, recovered any) error {
	if recovered == nil {
		return fmt.Errorf("lens: the span exporter %T called runtime.Goexit in %s", p.exp, call)
	}
	if err, ok := recovered.(error); ok {
		return fmt.Errorf("lens: the span exporter %T panicked in %s: %w", p.exp, call, err)
	}
	return fmt.Errorf("lens: the span exporter %T panicked in %s: %s", p.exp, call, errlog.Scrub(fmt.Sprint(recovered)))
}

// lostOf returns how many of total spans err means.
func lostOf(err error, total int) int {
	if err == nil {
		return 0
	}
	var exact interface{ LostSpans() int }
	if errors.As(err, &exact) {
		return min(max(exact.LostSpans(), 0), total)
	}
	return total
}

// settle counts a batch that came back. p.mu is held.
func (p *Processor) settle(total, lost int, err error) {
	if p.finished { // without it: it has been counted as failed
		return
	}
	p.inflight = 0
	p.exported += uint64(total - lost)
	p.failed += uint64(lost)
	if lost > 0 {
		p.cause = err
		p.noteLoss()
	}
	p.releaseFlushers()
}

// shutdownExporter calls the exporter's Shutdown, once.
func (p *Processor) shutdownExporter() (err error) {
	if p.exporterDown {
		return fmt.Errorf("lens: the span exporter %T called runtime.Goexit in Shutdown", p.exp)
	}
	p.exporterDown = true
	defer func() {
		if r := recover(); r != nil {
			err = p.escaped("Shutdown", r)
		}
	}()
	if err := p.exp.Shutdown(p.ctx); err != nil {
		return fmt.Errorf("lens: shutting down the span exporter: %w", err)
	}
	return nil
}

// noteLoss has OnLoss called. p.mu is held.
func (p *Processor) noteLoss() {
	if p.cfg.OnLoss == nil || p.lossPending {
		return
	}
	p.lossPending = true
	p.lossy <- struct{}{} // never waits: pending is false only when it is empty
}

// tell is the goroutine that calls OnLoss. The worker cannot: it may be inside an
// exporter for a long time while spans are being dropped.
func (p *Processor) tell() {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	for {
		select {
		case <-p.lossy:
		case <-p.done:
			return
		}
		told := p.Stats()
		p.callOnLoss(told)
		pause.Reset(time.Second)
		select {
		case <-pause.C:
		case <-p.done:
			return
		}
		p.mu.Lock()
		p.lossPending = false
		if p.dropped()+p.failed != told.Dropped+told.Failed {
			p.noteLoss()
		}
		p.mu.Unlock()
	}
}

func (p *Processor) callOnLoss(s Stats) {
	defer func() { _ = recover() }() // the program's callback must not end the program
	p.cfg.OnLoss(s)
}
