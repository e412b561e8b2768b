package record

import (
	"bytes"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// OpenSpan describes a span that had started and not ended.
type OpenSpan struct {
	Name       string
	Group      string
	Start      time.Time
	Attributes []attribute.KeyValue // a copy of those set so far
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Parent     trace.SpanID // all zero for a root span
}

// OpenSpans returns the open spans, earliest start first. It is not one moment of
// all spans: those that start or end meanwhile may be there or not.
func (p *Provider) OpenSpans() []OpenSpan {
	spans := p.open.all(false)
	open := make([]OpenSpan, 0, len(spans))
	for _, s := range spans {
		if s.ended() {
			continue
		}
		open = append(open, OpenSpan{
			Name: s.Name(), Group: s.group, Start: s.StartTime(), Attributes: slices.Clone(s.Attributes()),
			TraceID: s.traceID, SpanID: s.spanID, Parent: s.parentID,
		})
	}
	slices.SortFunc(open, func(a, b OpenSpan) int {
		if c := a.Start.Compare(b.Start); c != 0 {
			return c
		}
		return bytes.Compare(a.SpanID[:], b.SpanID[:])
	})
	return open
}
