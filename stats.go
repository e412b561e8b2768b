package lens

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

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
