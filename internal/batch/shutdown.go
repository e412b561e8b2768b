package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/nemo-lens/lens/internal/outcome"
)

// lingerTime is how long the work goes on when no caller of Shutdown waits any
// more.
const lingerTime = 100 * time.Millisecond

// Shutdown exports what is queued, shuts the exporter down and ends the
// processor's goroutines; spans ended from now on are dropped. All callers share
// the work, as the package comment says, and get the same result once it is done:
// a *[LossError] with the numbers of the whole life of the processor when any span
// was lost, whether or not a flush has reported it before, an error of the
// exporter's Shutdown, or nil.
//
// A caller whose ctx is done earlier gets an error that wraps ctx's, and the
// numbers as they are when what is still queued is lost.
func (p *Processor) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopping {
		p.stopping = true
		p.limit = 0 // OnEnd looks at nothing else
		p.room.Broadcast()
	}
	if p.finished {
		return p.result
	}
	p.callers++
	p.givenUp = false
	p.linger.Stop()
	p.mu.Unlock()
	p.signal()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.callers--
	if p.finished {
		return p.result
	}

	c := p.counts
	c.left += uint64(p.waiting)
	c.failed += uint64(p.inflight)
	if p.callers == 0 {
		p.givenUp, p.timeUp = true, ctx.Err()
		p.linger.Reset(lingerTime)
	}
	return p.verdict(c, ctx.Err())
}

// verdict is the result of a shutdown that was not done in time. p.mu is held.
func (p *Processor) verdict(c counts, timeUp error) error {
	if err := p.loss(c, counts{}, timeUp); err != nil {
		return err
	}
	return fmt.Errorf("lens: the span exporter %T did not shut down in time: %w", p.exp, timeUp)
}

// abandon makes the verdict final when no caller has come back.
func (p *Processor) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished || !p.givenUp {
		return
	}
	p.failed += uint64(p.inflight)
	p.inflight = 0
	p.left += uint64(p.discard())
	p.end(p.verdict(p.counts, p.timeUp))
}

// finish ends the processor when all the work is done.
func (p *Processor) finish(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.finished {
		p.end(outcome.Both(p.loss(p.counts, counts{}, nil), err))
	}
}

// end is the end. p.mu is held.
func (p *Processor) end(result error) {
	p.finished, p.givenUp, p.result = true, false, result
	p.reported = p.counts
	p.budget.Stop()
	p.linger.Stop()
	p.releaseFlushers()
	close(p.done)
	p.cancel()
}
