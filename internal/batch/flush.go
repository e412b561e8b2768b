package batch

import (
	"context"
	"fmt"
	"slices"

	"github.com/nemo-lens/lens/internal/outcome"
)

// flusher waits until every span below a position of the queue has left it.
type flusher struct {
	upTo uint64
	done chan struct{}
}

// ForceFlush hands every span that ended before the call to the exporter and waits
// for the outcome, at most until ctx is done. The error is or wraps a *[LossError]
// when spans were lost since the last report, that is since the last ForceFlush
// that had returned when this one was called. It wraps ctx's error when spans still
// wait; they stay queued.
func (p *Processor) ForceFlush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	base, upTo := p.reported, p.accepted()
	var unfinished error
	if p.gone() < upTo {
		f := flusher{upTo, make(chan struct{})}
		p.flushers = append(p.flushers, f)
		p.flushTo = max(p.flushTo, upTo)
		p.mu.Unlock()
		p.signal()
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if n := p.gone(); n < upTo {
			p.flushers = slices.DeleteFunc(p.flushers, func(o flusher) bool { return o == f })
			unfinished = fmt.Errorf("lens: flush: %d spans not exported yet: %w", upTo-n, ctx.Err())
		}
	}
	p.reported = p.counts
	return outcome.Both(p.loss(p.counts, base, nil), unfinished)
}

// gone is the position up to which spans have left the queue and the exporter.
// p.mu is held.
func (p *Processor) gone() uint64 { return p.taken - uint64(p.inflight) }

// releaseFlushers lets go those that have what they wait for. p.mu is held.
func (p *Processor) releaseFlushers() {
	p.flushers = slices.DeleteFunc(p.flushers, func(f flusher) bool {
		if p.gone() < f.upTo {
			return false
		}
		close(f.done)
		return true
	})
}
