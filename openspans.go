//go:build !lens_noop

package lens

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// OpenSpan is a span that has started and not ended: what the process is doing
// at this moment, or where it hangs.
type OpenSpan struct {
	Name         string
	Group        SpanGroup // "" when it was started without one
	Start        time.Time
	Attributes   []attribute.KeyValue // those set so far
	TraceID      trace.TraceID
	SpanID       trace.SpanID
	ParentSpanID trace.SpanID // invalid for a root span
}

// OpenSpans returns the sampled spans that are open, earliest start first. The
// slice is the caller's. Spans that start or end meanwhile may be in it or not.
func (h *TelemetryHandle) OpenSpans() []OpenSpan {
	if !h.IsExporting() || h.pipeline.Pipeline == nil {
		return nil
	}
	snapshot := h.pipeline.Open.Snapshot()
	open := make([]OpenSpan, len(snapshot))
	for i, s := range snapshot {
		open[i] = OpenSpan{
			Name: s.Name, Group: SpanGroup(s.Group), Start: s.Start, Attributes: s.Attributes,
			TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: s.Parent,
		}
	}
	return open
}
