//go:build !lens_noop

package lens

// Stats says what became of the spans, metrics and logs of a set-up. Started
// and Ended count every span; of the ended ones, those that are sampled are
// Exported, Dropped (never given to the exporter), Failed (not taken by the
// receiver) or Queued.
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
		c := p.Counts()
		s.Started, s.Ended, s.Open = p.Open.Started(), p.Open.Ended(), uint64(p.Open.Len())
		s.Exported, s.Dropped, s.Failed, s.Queued = c.Exported, c.Dropped, c.Failed, c.Queued
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
