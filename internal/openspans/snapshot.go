package openspans

import (
	"bytes"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Open describes a span that had started and not ended.
type Open struct {
	Name       string
	Group      string // as given to SetGroup
	Start      time.Time
	Attributes []attribute.KeyValue // a copy of those set so far
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Parent     trace.SpanID // all zero for a root span
}

// Snapshot returns the open spans, earliest start first. It is not one moment of
// all spans: those that start or end meanwhile may be there or not.
func (t *Table) Snapshot() []Open {
	var slots []slot
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		slots = sh.appendTo(slots)
		sh.mu.Unlock()
	}
	// A span has a lock of its own, so it is read with no shard locked.
	open := make([]Open, 0, len(slots))
	for _, s := range slots {
		if !s.span.EndTime().IsZero() {
			continue
		}
		sc := s.span.SpanContext()
		open = append(open, Open{
			Name:       s.span.Name(),
			Group:      s.group,
			Start:      s.span.StartTime(),
			Attributes: slices.Clone(s.span.Attributes()),
			TraceID:    sc.TraceID(),
			SpanID:     sc.SpanID(),
			Parent:     s.span.Parent().SpanID(),
		})
	}
	slices.SortFunc(open, func(a, b Open) int {
		if c := a.Start.Compare(b.Start); c != 0 {
			return c
		}
		return bytes.Compare(a.SpanID[:], b.SpanID[:])
	})
	return open
}
