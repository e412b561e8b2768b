package queue

import "github.com/nemo-lens/lens/internal/queue/outcome"

// Stats counts items. Given = Exported + Dropped + Failed + Queued.
type Stats struct {
	Given    uint64 // all that Put was given
	Exported uint64 // that the exporter took
	Dropped  uint64 // that it never got: no room, after shutdown, or left over at shutdown
	Failed   uint64 // that it got and did not export
	Queued   uint64 // that wait for room or for the exporter, or are with it
}

// Stats returns one consistent snapshot.
func (q *Queue[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Given:    q.accepted() + uint64(q.blocked) + q.full + q.late,
		Exported: q.exported, Dropped: q.dropped(), Failed: q.failed,
		Queued: uint64(q.blocked),
	}
	if q.end.GivenUp() {
		// Lost, unless a later caller of Shutdown takes the work over.
		s.Dropped += uint64(q.waiting)
		s.Failed += uint64(q.inflight)
	} else {
		s.Queued += uint64(q.waiting + q.inflight)
	}
	return s
}

// counts are items whose fate is decided.
type counts struct {
	exported, failed uint64

	full uint64 // dropped: no room
	late uint64 // dropped: after Shutdown was called
	left uint64 // dropped: waiting when the time for shutdown was up
}

func (c *counts) dropped() uint64 { return c.full + c.late + c.left }

func (c *counts) lost() uint64 { return c.dropped() + c.failed }

func (c *counts) since(base counts) counts {
	return counts{
		exported: c.exported - base.exported, failed: c.failed - base.failed,
		full: c.full - base.full, late: c.late - base.late, left: c.left - base.left,
	}
}

// loss returns what c has lost since base, or nil. timeUp is a reason besides that of
// a failed export. q.mu is held.
func (q *Queue[T]) loss(c, base counts, timeUp error) *outcome.LossError {
	d := c.since(base)
	if d.lost() == 0 {
		return nil
	}
	var why outcome.Reasons
	why.Add(timeUp)
	if d.failed > 0 {
		why.Add(q.cause)
	}
	return &outcome.LossError{
		What: q.cfg.What, Endpoint: q.cfg.Endpoint,
		Dropped: d.dropped(), Full: d.full, Late: d.late, Left: d.left,
		Failed: d.failed, Of: d.exported + d.lost(), Cause: why.Err(),
	}
}

// lossAnd is what was lost since base and another error, either of which may be nil.
// q.mu is held.
func (q *Queue[T]) lossAnd(base counts, err error) error {
	if loss := q.loss(q.counts, base, nil); loss != nil {
		return outcome.Both(loss, err)
	}
	return err
}
