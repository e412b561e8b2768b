//go:build !lens_noop

package lens

// Stats says what became of the spans, metrics and logs of a set-up. It counts
// the spans that are sampled. At every moment
//
//	Ended = Exported + Dropped + Failed + Queued
//
// and Started is at least Ended. Dropped spans never came to the exporter,
// Failed ones were not taken by the receiver.
type Stats struct {
	Started, Ended, Exported, Dropped, Failed, Queued, Open uint64

	Metrics SignalStats // of data points
	Logs    SignalStats // of log records
}

// SignalStats counts the data points or log records that were exported, that
// were lost, and that are on their way.
type SignalStats struct{ Exported, Lost, Queued uint64 }

// Stats returns the numbers at this moment.
func (h *TelemetryHandle) Stats() (s Stats) {
	if !h.IsExporting() {
		return s
	}
	p := h.pipeline
	if p.Pipeline != nil {
		// One snapshot of the queue; what started is read after it, so that a
		// span never ends before it starts.
		c := p.Counts()
		s.Ended, s.Exported, s.Dropped, s.Failed, s.Queued = c.Given, c.Exported, c.Dropped, c.Failed, c.Queued
		if !p.HasQueue() {
			s.Ended = p.Open.Ended()
		}
		s.Open, s.Started = uint64(p.Open.Len()), p.Open.Started()
	}
	if p.metrics != nil {
		m := p.metrics.Stats()
		s.Metrics = SignalStats{Exported: m.Points, Lost: m.LostPoints}
	}
	if p.logs != nil {
		l := p.logs.Stats()
		s.Logs = SignalStats{Exported: l.Exported, Lost: l.Dropped + l.Failed, Queued: l.Queued}
	}
	return s
}
