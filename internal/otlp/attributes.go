package otlp

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// valid repairs text, as protobuf refuses a whole message for one bad byte.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func keyValue(kv attribute.KeyValue) *common.KeyValue {
	return &common.KeyValue{Key: valid(string(kv.Key)), Value: anyValue(kv.Value)}
}

func keyValues(attrs []attribute.KeyValue) []*common.KeyValue {
	if len(attrs) == 0 {
		return nil
	}
	return convert(attrs, keyValue)
}

func setValues(set attribute.Set) []*common.KeyValue { return keyValues(set.ToSlice()) }

// anyValue translates an attribute's value; one without a type has none.
func anyValue(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return boolValue(v.AsBool())
	case attribute.INT64:
		return intValue(v.AsInt64())
	case attribute.FLOAT64:
		return floatValue(v.AsFloat64())
	case attribute.STRING:
		return stringValue(v.AsString())
	case attribute.BYTESLICE:
		return &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: v.AsByteSlice()}}
	case attribute.BOOLSLICE:
		return arrayValue(convert(v.AsBoolSlice(), boolValue))
	case attribute.INT64SLICE:
		return arrayValue(convert(v.AsInt64Slice(), intValue))
	case attribute.FLOAT64SLICE:
		return arrayValue(convert(v.AsFloat64Slice(), floatValue))
	case attribute.STRINGSLICE:
		return arrayValue(convert(v.AsStringSlice(), stringValue))
	case attribute.SLICE:
		return arrayValue(convert(v.AsSlice(), anyValue))
	case attribute.MAP:
		return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: keyValues(v.AsMap())}}}
	case attribute.EMPTY:
		return &common.AnyValue{}
	}
	// A type that a newer SDK has: its text is better than nothing.
	return stringValue(v.String())
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

func stringValue(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: valid(s)}}
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

func resourceOf(r *resource.Resource) *resourcepb.Resource {
	return &resourcepb.Resource{Attributes: keyValues(r.Attributes())}
}

func scopeOf(s instrumentation.Scope) *common.InstrumentationScope {
	return &common.InstrumentationScope{Name: valid(s.Name), Version: valid(s.Version), Attributes: setValues(s.Attributes)}
}

// nanoseconds since 1970; 0 for the zero time and anything earlier.
func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }
