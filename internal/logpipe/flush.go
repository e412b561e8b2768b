package logpipe

import (
	"context"
	"fmt"
	"slices"

	"github.com/nemo-lens/lens/internal/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/outcome"
)

// flusher waits until every record below a position of the queue has left it.
type flusher struct {
	upTo uint64
	done chan struct{}
}

// ForceFlush implements sdklog.Processor; see [Pipeline.ForceFlush].
func (q *queue) ForceFlush(ctx context.Context) error {
	q.mu.Lock()
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
			unfinished = fmt.Errorf("lens: flush: %d log records not exported yet: %w", upTo-n, ctx.Err())
		}
	}
	q.reported = q.counts
	err := q.loss(q.counts, base, nil)
	finished := q.finished
	q.mu.Unlock()

	if unfinished == nil && !finished {
		// The exporter may hold something back itself.
		held, _ := outcome.Call(ctx, fmt.Sprintf("ForceFlush of the log exporter %T", q.exp), func() (err error) {
			reentry.Do(func() { err = q.exp.ForceFlush(reentry.Mark(ctx)) })
			return err
		})
		unfinished = held
	}
	return named(q.endpoint, outcome.Both(err, unfinished))
}

// gone is the position up to which records have left the queue and the exporter.
// q.mu is held.
func (q *queue) gone() uint64 { return q.taken - uint64(q.inflight) }

// releaseFlushers lets go those that have what they wait for. q.mu is held.
func (q *queue) releaseFlushers() {
	q.flushers = slices.DeleteFunc(q.flushers, func(f flusher) bool {
		if q.gone() < f.upTo {
			return false
		}
		close(f.done)
		return true
	})
}
