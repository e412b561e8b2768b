package metricpipe

import (
	"time"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// Stats counts exports and data points. Every point that was collected for the
// exporter is in Points or in LostPoints once its export has come back.
type Stats struct {
	Exports    uint64 // calls of the exporter that came back, or were given up
	Failed     uint64 // of them, those with an error
	Points     uint64 // data points that the exporter took
	LostPoints uint64 // data points that it did not take, or was not given in time, and one for each value that a callback did not deliver

	LastDuration, TotalDuration time.Duration // of the exports that came back
}

// snapshot returns the numbers. givenUp: nobody waits for the shutdown any more, so
// that what is unfinished counts as lost.
func (s *sender) snapshot(givenUp bool) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	if givenUp {
		out.LostPoints += uint64(s.inflight + s.waiting)
	}
	return out
}

// loss returns the error for lost points, or nil. cause is a reason besides that of
// a failed export. s.mu is held.
func (s *sender) loss(lost, of uint64, cause error) error {
	if lost == 0 {
		return nil
	}
	var why outcome.Reasons
	why.Add(cause)
	why.Add(s.cause)
	return &outcome.LossError{What: what, Endpoint: s.endpoint, Failed: lost, Of: of, Cause: why.Err()}
}
