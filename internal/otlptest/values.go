package otlptest

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Scope is the instrumentation scope that made an item.
type Scope struct {
	Name, Version, SchemaURL string
	Attributes               map[string]any
}

func newScope(s *commonpb.InstrumentationScope, schemaURL string) Scope {
	return Scope{
		Name: s.GetName(), Version: s.GetVersion(), SchemaURL: schemaURL,
		Attributes: attributes(s.GetAttributes()),
	}
}

// attributes flattens a list. Values are string, bool, int64, float64, []byte, []any, map[string]any or
// nil. Of equal keys the last one wins; the raw message has them all.
func attributes(list []*commonpb.KeyValue) map[string]any {
	m := make(map[string]any, len(list))
	for _, kv := range list {
		m[kv.GetKey()] = value(kv.GetValue())
	}
	return m
}

func value(v *commonpb.AnyValue) any {
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return x.StringValue
	case *commonpb.AnyValue_BoolValue:
		return x.BoolValue
	case *commonpb.AnyValue_IntValue:
		return x.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return x.DoubleValue
	case *commonpb.AnyValue_BytesValue:
		return x.BytesValue
	case *commonpb.AnyValue_ArrayValue:
		out := make([]any, len(x.ArrayValue.GetValues()))
		for i, e := range x.ArrayValue.GetValues() {
			out[i] = value(e)
		}
		return out
	case *commonpb.AnyValue_KvlistValue:
		return attributes(x.KvlistValue.GetValues())
	default:
		return nil
	}
}

// instant returns the zero time for 0, which OTLP uses for "not set".
func instant(nanos uint64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(nanos)).UTC()
}

func traceID(b []byte) (id trace.TraceID) { copy(id[:], b); return id }

func spanID(b []byte) (id trace.SpanID) { copy(id[:], b); return id }

// checkIDs refuses identifiers that are neither absent nor of the right length.
func checkIDs(msg proto.Message) error {
	switch m := msg.(type) {
	case *coltracepb.ExportTraceServiceRequest:
		for _, r := range m.GetResourceSpans() {
			for _, sc := range r.GetScopeSpans() {
				for _, sp := range sc.GetSpans() {
					if err := checkLengths(sp.GetName(), sp.GetTraceId(), sp.GetSpanId(), sp.GetParentSpanId()); err != nil {
						return err
					}
					for _, l := range sp.GetLinks() {
						if err := checkLengths(sp.GetName(), l.GetTraceId(), l.GetSpanId()); err != nil {
							return err
						}
					}
				}
			}
		}
	case *collogspb.ExportLogsServiceRequest:
		for _, r := range m.GetResourceLogs() {
			for _, sc := range r.GetScopeLogs() {
				for _, rec := range sc.GetLogRecords() {
					if err := checkLengths("log record", rec.GetTraceId(), rec.GetSpanId()); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func checkLengths(what string, trace []byte, spans ...[]byte) error {
	if n := len(trace); n != 0 && n != 16 {
		return fmt.Errorf("%s: trace id of %d bytes, want 16", what, n)
	}
	for _, id := range spans {
		if n := len(id); n != 0 && n != 8 {
			return fmt.Errorf("%s: span id of %d bytes, want 8", what, n)
		}
	}
	return nil
}
