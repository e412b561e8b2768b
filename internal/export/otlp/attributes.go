package otlp

import (
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/report"
)

// translator makes messages of metrics and log records. It repairs their text, as
// protobuf refuses a whole message for one bad byte.
type translator struct {
	repaired bool // some was
}

// tell says once in a while that text of these items had to be repaired.
func (t *translator) tell(log *report.Log, what string) {
	if t.repaired {
		log.Warn(what+" repaired", "lens: text in "+what+" that is not UTF-8 was repaired")
	}
}

func (t *translator) text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	t.repaired = true
	return guard.ValidText(s)
}

func (t *translator) keyValue(kv attribute.KeyValue) *common.KeyValue {
	return &common.KeyValue{Key: t.text(string(kv.Key)), Value: t.anyValue(kv.Value)}
}

func (t *translator) keyValues(attrs []attribute.KeyValue) []*common.KeyValue {
	if len(attrs) == 0 {
		return nil
	}
	return convert(attrs, t.keyValue)
}

func (t *translator) setValues(set attribute.Set) []*common.KeyValue {
	return t.keyValues(set.ToSlice())
}

// anyValue translates an attribute's value; one without a type has none.
func (t *translator) anyValue(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return boolValue(v.AsBool())
	case attribute.INT64:
		return intValue(v.AsInt64())
	case attribute.FLOAT64:
		return floatValue(v.AsFloat64())
	case attribute.STRING:
		return t.stringValue(v.AsString())
	case attribute.BYTESLICE:
		return &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: v.AsByteSlice()}}
	case attribute.BOOLSLICE:
		return arrayValue(convert(v.AsBoolSlice(), boolValue))
	case attribute.INT64SLICE:
		return arrayValue(convert(v.AsInt64Slice(), intValue))
	case attribute.FLOAT64SLICE:
		return arrayValue(convert(v.AsFloat64Slice(), floatValue))
	case attribute.STRINGSLICE:
		return arrayValue(convert(v.AsStringSlice(), t.stringValue))
	case attribute.SLICE:
		return arrayValue(convert(v.AsSlice(), t.anyValue))
	case attribute.MAP:
		return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: t.keyValues(v.AsMap())}}}
	case attribute.EMPTY:
		return &common.AnyValue{}
	}
	// A type that a newer SDK has: its text is better than nothing.
	return t.stringValue(v.String())
}

func boolValue(b bool) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: b}}
}

func intValue(n int64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
}

func floatValue(f float64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: f}}
}

func (t *translator) stringValue(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: t.text(s)}}
}

func arrayValue(values []*common.AnyValue) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: values}}}
}

func convert[T, P any](in []T, f func(T) P) []P {
	out := make([]P, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func (t *translator) resourceOf(r *resource.Resource) *resourcepb.Resource {
	return &resourcepb.Resource{Attributes: t.keyValues(r.Attributes())}
}

func (t *translator) scopeOf(s instrumentation.Scope) *common.InstrumentationScope {
	return &common.InstrumentationScope{Name: t.text(s.Name), Version: t.text(s.Version), Attributes: t.setValues(s.Attributes)}
}

// nanoseconds since 1970; 0 for the zero time and anything earlier.
func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }
