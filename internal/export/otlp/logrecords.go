package otlp

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/log"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	pb "go.opentelemetry.io/proto/otlp/logs/v1"
)

// resourceLogs translates records, grouped by resource and scope, all in the order
// in which they first appear.
func (t *translator) resourceLogs(records []log.Record) []*pb.ResourceLogs {
	type key struct {
		resource attribute.Distinct
		scope    instrumentation.Scope
	}
	var out []*pb.ResourceLogs
	resources := map[attribute.Distinct]*pb.ResourceLogs{}
	scopes := map[key]*pb.ScopeLogs{}
	for i := range records {
		r := &records[i]
		res := r.Resource()
		k := key{res.Equivalent(), r.InstrumentationScope()}
		rl := resources[k.resource]
		if rl == nil {
			rl = &pb.ResourceLogs{Resource: t.resourceOf(res), SchemaUrl: t.text(res.SchemaURL())}
			resources[k.resource] = rl
			out = append(out, rl)
		}
		sl := scopes[k]
		if sl == nil {
			sl = &pb.ScopeLogs{Scope: t.scopeOf(k.scope), SchemaUrl: t.text(k.scope.SchemaURL)}
			scopes[k] = sl
			rl.ScopeLogs = append(rl.ScopeLogs, sl)
		}
		sl.LogRecords = append(sl.LogRecords, t.logRecord(r))
	}
	return out
}

func (t *translator) logRecord(r *log.Record) *pb.LogRecord {
	out := &pb.LogRecord{
		TimeUnixNano:           nanoseconds(r.Timestamp()),
		ObservedTimeUnixNano:   nanoseconds(r.ObservedTimestamp()),
		EventName:              t.text(r.EventName()),
		SeverityText:           t.text(r.SeverityText()),
		Body:                   t.anyValue(r.Body()),
		Attributes:             make([]*common.KeyValue, 0, r.AttributesLen()),
		DroppedAttributesCount: uint32(min(uint64(max(r.DroppedAttributes(), 0)), math.MaxUint32)),
		Flags:                  uint32(r.TraceFlags()),
	}
	// Both enumerations count the 24 levels of the specification from 1.
	if n := int32(r.Severity()); n >= 1 && n <= 24 {
		out.SeverityNumber = pb.SeverityNumber(n)
	}
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		out.Attributes = append(out.Attributes, t.keyValue(kv))
		return true
	})
	if id := r.TraceID(); id.IsValid() {
		out.TraceId = id[:]
	}
	if id := r.SpanID(); id.IsValid() {
		out.SpanId = id[:]
	}
	return out
}
