package otlptest

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
)

// LogRecord is one received log record.
type LogRecord struct {
	Time, ObservedTime time.Time
	Severity           int // 1 to 24; 9 is INFO
	SeverityText       string
	EventName          string
	Body               any            // string, bool, int64, float64, []byte, []any, map[string]any or nil
	Attributes         map[string]any // the same types
	DroppedAttributes  uint32
	TraceID            trace.TraceID
	SpanID             trace.SpanID
	Flags              uint32

	Scope             Scope
	Resource          map[string]any
	ResourceSchemaURL string

	Request int               // index in [Server.Requests], or -1 after a Reset meanwhile
	Proto   *logspb.LogRecord // as received; not to be changed
}

// Logs returns the accepted log records in the order in which they came.
func (s *Server) Logs() []LogRecord {
	var out []LogRecord
	for _, k := range keptOf[*collogspb.ExportLogsServiceRequest](s) {
		left := k.items
		for _, r := range k.msg.GetResourceLogs() {
			res := attributes(r.GetResource().GetAttributes())
			for _, sc := range r.GetScopeLogs() {
				scope := newScope(sc.GetScope(), sc.GetSchemaUrl())
				for _, p := range sc.GetLogRecords() {
					if left == 0 {
						break
					}
					left--
					out = append(out, LogRecord{
						Time:              instant(p.GetTimeUnixNano()),
						ObservedTime:      instant(p.GetObservedTimeUnixNano()),
						Severity:          int(p.GetSeverityNumber()),
						SeverityText:      p.GetSeverityText(),
						EventName:         p.GetEventName(),
						Body:              value(p.GetBody()),
						Attributes:        attributes(p.GetAttributes()),
						DroppedAttributes: p.GetDroppedAttributesCount(),
						TraceID:           traceID(p.GetTraceId()),
						SpanID:            spanID(p.GetSpanId()),
						Flags:             p.GetFlags(),
						Scope:             scope,
						Resource:          res,
						ResourceSchemaURL: r.GetSchemaUrl(),
						Request:           k.request,
						Proto:             p,
					})
				}
			}
		}
	}
	return out
}
