package lens

import (
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// redacted stands in place of a value that must not be recorded.
const redacted = "[REDACTED]"

// DefaultRedactKeys are the attribute keys whose text is never recorded.
// Keys are compared exactly: "user.password" and "Password" are not among them.
var DefaultRedactKeys = NewGroupSet("prompt", "input_text", "output_text", "text", "password", "token", "secret", "key")

// RedactValue returns "[REDACTED]" when key is one of the redact keys, else the
// value. Keys given here replace the default ones altogether.
func RedactValue(key, value string, redactKeys ...string) string {
	if isRedacted(key, redactKeys) {
		return redacted
	}
	return value
}

func isRedacted(key string, redactKeys []string) bool {
	if redactKeys == nil {
		return DefaultRedactKeys.Has(SpanGroup(key))
	}
	return slices.Contains(redactKeys, key)
}

// SafeSetSpanAttributes sets what can be set and leaves the rest: booleans,
// numbers, texts and slices of one of these are set, nil and everything else
// is passed over. Text under a redact key becomes "[REDACTED]", in slices too.
// A nil span, or one that does not record, is left alone.
func SafeSetSpanAttributes(span trace.Span, attrs map[string]any, redactKeys ...string) {
	if span == nil || !span.IsRecording() {
		return
	}
	set := make([]attribute.KeyValue, 0, len(attrs))
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		if v, ok := attributeValue(attrs[key]); ok && key != "" {
			kv := attribute.KeyValue{Key: attribute.Key(key), Value: v}
			if isRedacted(key, redactKeys) {
				kv = redact(kv)
			}
			set = append(set, kv)
		}
	}
	span.SetAttributes(set...)
}

func redact(kv attribute.KeyValue) attribute.KeyValue {
	switch kv.Value.Type() {
	case attribute.STRING:
		return kv.Key.String(redacted)
	case attribute.STRINGSLICE:
		texts := kv.Value.AsStringSlice()
		for i := range texts {
			texts[i] = redacted
		}
		return kv.Key.StringSlice(texts)
	}
	return kv
}

func attributeValue(v any) (attribute.Value, bool) {
	switch v := v.(type) {
	case bool:
		return attribute.BoolValue(v), true
	case string:
		return attribute.StringValue(v), true
	case int:
		return attribute.IntValue(v), true
	case int8:
		return attribute.Int64Value(int64(v)), true
	case int16:
		return attribute.Int64Value(int64(v)), true
	case int32:
		return attribute.Int64Value(int64(v)), true
	case int64:
		return attribute.Int64Value(v), true
	case uint8:
		return attribute.Int64Value(int64(v)), true
	case uint16:
		return attribute.Int64Value(int64(v)), true
	case uint32:
		return attribute.Int64Value(int64(v)), true
	case float32:
		return attribute.Float64Value(float64(v)), true
	case float64:
		return attribute.Float64Value(v), true
	case []bool:
		return attribute.BoolSliceValue(v), true
	case []string:
		return attribute.StringSliceValue(v), true
	case []int:
		return attribute.IntSliceValue(v), true
	case []int64:
		return attribute.Int64SliceValue(v), true
	case []float64:
		return attribute.Float64SliceValue(v), true
	case []any:
		return anySlice(v)
	}
	return attribute.Value{}, false
}

// anySlice sets a slice whose members all have one type.
func anySlice(vs []any) (attribute.Value, bool) {
	if len(vs) == 0 {
		return attribute.StringSliceValue(nil), true
	}
	switch vs[0].(type) {
	case bool:
		return membersOf(vs, attribute.BoolSliceValue)
	case string:
		return membersOf(vs, attribute.StringSliceValue)
	case int:
		return membersOf(vs, attribute.IntSliceValue)
	case int64:
		return membersOf(vs, attribute.Int64SliceValue)
	case float64:
		return membersOf(vs, attribute.Float64SliceValue)
	}
	return attribute.Value{}, false
}

func membersOf[T any](vs []any, value func([]T) attribute.Value) (attribute.Value, bool) {
	out := make([]T, len(vs))
	for i, v := range vs {
		member, ok := v.(T)
		if !ok {
			return attribute.Value{}, false
		}
		out[i] = member
	}
	return value(out), true
}
