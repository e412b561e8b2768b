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

// CheckReport is what [Check] found out.
type CheckReport struct {
	// Config is the configuration that was checked.
	Config Config
	// RunID is the run id that a set-up would have; a random one differs each time.
	RunID string
	// Rank and WorldSize are those of this process, and ExportingRanks those of all
	// ranks of the job that would export.
	Rank, WorldSize int
	ExportingRanks  []int
	// Groups are the span groups that would be on.
	Groups GroupSet
	// Signals are traces, metrics and logs, in this order.
	Signals []SignalCheck
	// Off says why nothing would be recorded; it is empty when telemetry is on.
	Off string
	// Problems are what SetupTelemetry would refuse, and Warnings what it would log.
	Problems []error
	Warnings []string
}

// SignalCheck is where one signal would go.
type SignalCheck struct {
	Signal   string // "traces", "metrics" or "logs"
	Enabled  bool
	Off      string   // why it is not enabled although the configuration says so
	Exporter string   // "otlp", "console", "file" or "none"
	Where    string   // the endpoint, and whether TLS is used, or the file
	Protocol string   // of otlp
	Headers  []string // the names of the headers that are sent, never their values
	// Asked is true when the receiver was sent an empty request. Err is why it did
	// not take that, with the remedy where it is known.
	Asked bool
	Took  time.Duration
	Err   error
}
