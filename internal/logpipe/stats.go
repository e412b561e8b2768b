package logpipe

import (
	"fmt"
	"strings"

	"github.com/nemo-lens/lens/internal/outcome"
)

// Stats counts log records. Emitted = Exported + Dropped + Failed + Queued.
type Stats struct {
	Emitted  uint64 // all that came to the queue and were not suppressed
	Exported uint64 // that the exporter took
	Dropped  uint64 // that it never got: no room, emitted after shutdown, or left over at shutdown
	Failed   uint64 // that it got and did not export
	Queued   uint64 // that wait for room or for the exporter, or are with it

	// Suppressed counts records that exporting made and that were not queued. Those
	// that a handler finds disabled before they are emitted are not among them.
	Suppressed uint64
}

// stats returns one consistent snapshot. givenUp: nobody waits for the shutdown any
// more, so that what is unfinished counts as lost.
func (q *queue) stats(givenUp bool) Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Emitted:  q.accepted() + uint64(q.blocked) + q.full + q.late,
		Exported: q.exported, Dropped: q.dropped(), Failed: q.failed,
		Queued: uint64(q.blocked), Suppressed: q.suppressed.Load(),
	}
	if givenUp {
		s.Dropped += uint64(q.waiting)
		s.Failed += uint64(q.inflight)
	} else {
		s.Queued += uint64(q.waiting + q.inflight)
	}
	return s
}

// counts are records whose fate is decided.
type counts struct {
	exported, failed uint64

	full uint64 // dropped: no room
	late uint64 // dropped: emitted after Shutdown was called
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

// LossError says that log records were lost.
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
	fmt.Fprintf(&b, "lens: %d of %d log records lost", e.Dropped+e.Failed, e.Of)
	sep := ": "
	for _, r := range []struct {
		n    uint64
		text string
	}{
		{e.full, "dropped because the queue was full"},
		{e.late, "dropped because they were emitted after shutdown"},
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

// loss returns what c has lost since base, or nil. cause is the reason besides that
// of a failed export. q.mu is held.
func (q *queue) loss(c, base counts, cause error) error {
	d := c.since(base)
	if d.dropped()+d.failed == 0 {
		return nil
	}
	if d.failed > 0 {
		cause = outcome.Both(cause, q.cause)
	}
	return &LossError{
		Dropped: d.dropped(), Failed: d.failed, Of: d.settled(), Cause: cause,
		full: d.full, late: d.late, left: d.left,
	}
}
