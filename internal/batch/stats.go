package batch

import (
	"fmt"
	"strings"

	"github.com/nemo-lens/lens/internal/outcome"
)

// Stats counts sampled spans. Ended = Exported + Dropped + Failed + Queued.
type Stats struct {
	Ended    uint64 // all that OnEnd was given
	Exported uint64 // that the exporter took
	Dropped  uint64 // that it never got: no room, ended after shutdown, or left over at shutdown
	Failed   uint64 // that it got and did not export
	Queued   uint64 // that wait for room or for the exporter, or are with it
}

// Stats returns one consistent snapshot.
func (p *Processor) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{
		Ended: p.ended(), Exported: p.exported, Dropped: p.dropped(), Failed: p.failed,
		Queued: uint64(p.blocked),
	}
	if p.givenUp {
		// Lost, unless a later caller of Shutdown takes the work over.
		s.Dropped += uint64(p.waiting)
		s.Failed += uint64(p.inflight)
	} else {
		s.Queued += uint64(p.waiting + p.inflight)
	}
	return s
}

// Cause returns the error of the last export that lost spans, or nil. Its text can
// hold what the exporter put there.
func (p *Processor) Cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// ended is every sampled span there was: those that got into the queue, wait to get
// into it, or never did. p.mu is held.
func (p *Processor) ended() uint64 {
	return p.accepted() + uint64(p.blocked) + p.full + p.late
}

// counts are spans whose fate is decided.
type counts struct {
	exported, failed uint64

	full uint64 // dropped: no room
	late uint64 // dropped: ended after Shutdown was called
	left uint64 // dropped: waiting when the time for shutdown was up
}

func (c *counts) dropped() uint64 { return c.full + c.late + c.left }

func (c *counts) settled() uint64 { return c.exported + c.failed + c.dropped() }

func (c *counts) since(base counts) counts {
	return counts{
		exported: c.exported - base.exported, failed: c.failed - base.failed,
		full: c.full - base.full, late: c.late - base.late, left: c.left - base.left,
	}
}

// LossError says that spans were lost.
type LossError struct {
	Dropped uint64 // the exporter never got them
	Failed  uint64 // it got them and did not export them
	Of      uint64 // all whose fate was decided in the same time
	Cause   error  // of the last failed export, or why there was no time; nil when the queue was full

	full, late, left uint64
}

// Unwrap returns Cause.
func (e *LossError) Unwrap() error { return e.Cause }

// Error gives the numbers and the reasons. The cause's text is scrubbed of secrets.
func (e *LossError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lens: %d of %d spans lost", e.Dropped+e.Failed, e.Of)
	sep := ": "
	for _, r := range []struct {
		n    uint64
		text string
	}{
		{e.full, "dropped because the queue was full"},
		{e.late, "dropped because they ended after shutdown"},
		{e.left, "dropped because they still waited when the time was up"},
		{e.Dropped - e.full - e.late - e.left, "dropped"},
		{e.Failed, "not exported"},
	} {
		if r.n > 0 {
			fmt.Fprintf(&b, "%s%d %s", sep, r.n, r.text)
			sep = ", "
		}
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, " (%s)", outcome.Text(e.Cause))
	}
	return b.String()
}

// loss returns what c has lost since base, or nil. cause is the reason besides
// that of a failed export.
func (p *Processor) loss(c, base counts, cause error) error {
	d := c.since(base)
	if d.dropped()+d.failed == 0 {
		return nil
	}
	if d.failed > 0 {
		cause = outcome.Both(cause, p.cause)
	}
	return &LossError{
		Dropped: d.dropped(), Failed: d.failed, Of: d.settled(), Cause: cause,
		full: d.full, late: d.late, left: d.left,
	}
}
