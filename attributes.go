package lens

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/gate"
)

// redacted stands in place of a value that must not be recorded.
const redacted = "[REDACTED]"

// DefaultRedactKeys are the attribute keys whose text is never recorded:
// input_text, key, output_text, password, prompt, secret, text and token.
// Keys are compared exactly: "user.password" and "Password" are not among them
// unless [WithStrictRedaction] is on.
var DefaultRedactKeys = RedactKeys{gate.New([]string{"prompt", "input_text", "output_text", "text", "password", "token", "secret", "key"})}

// RedactKeys is an immutable set of attribute keys. It is safe for concurrent use.
type RedactKeys struct{ set *gate.Set }

// Has reports whether the key is in the set, compared exactly.
func (r RedactKeys) Has(key string) bool { return r.set.Has(key) }

// Keys returns the keys, sorted, in a slice that the caller owns: to give them
// to [SafeSetSpanAttributes] beside keys of the caller's own.
func (r RedactKeys) Keys() []string { return r.set.Names() }

// RedactValue returns "[REDACTED]" when key is one of the redact keys, else the
// value. Keys given here replace the default ones altogether.
func RedactValue(key, value string, redactKeys ...string) string {
	if isRedacted(key, redactKeys) {
		return redacted
	}
	return value
}

// strict is set while a set-up with WithStrictRedaction is on.
var strict atomic.Bool

func isRedacted(key string, redactKeys []string) bool {
	if redactKeys != nil {
		return slices.Contains(redactKeys, key)
	}
	if DefaultRedactKeys.Has(key) {
		return true
	}
	if !strict.Load() {
		return false
	}
	last := key[strings.LastIndexByte(key, '.')+1:]
	return DefaultRedactKeys.Has(strings.ToLower(last))
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

// redact takes the text out of a value, whatever it is wrapped in. Booleans and
// numbers stay.
func redact(kv attribute.KeyValue) attribute.KeyValue {
	switch kv.Value.Type() {
	case attribute.BOOL, attribute.INT64, attribute.FLOAT64, attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE:
		return kv
	case attribute.STRINGSLICE:
		texts := kv.Value.AsStringSlice()
		for i := range texts {
			texts[i] = redacted
		}
		return kv.Key.StringSlice(texts)
	}
	return kv.Key.String(redacted)
}

// holdsSecret reports whether a value has a map in it with a redact key.
func holdsSecret(v attribute.Value) bool {
	switch v.Type() {
	case attribute.MAP:
		return anySecret(v.AsMap())
	case attribute.SLICE:
		return slices.ContainsFunc(v.AsSlice(), holdsSecret)
	}
	return false
}

// withoutSecrets is the value with what its maps hold under redact keys redacted.
func withoutSecrets(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.MAP:
		return attribute.MapValue(privateCopy(v.AsMap())...)
	case attribute.SLICE:
		members := v.AsSlice()
		for i := range members {
			members[i] = withoutSecrets(members[i])
		}
		return attribute.SliceValue(members...)
	}
	return v
}

// privateCopy returns a copy without secrets.
func privateCopy(attrs []attribute.KeyValue) []attribute.KeyValue {
	if len(attrs) == 0 {
		return nil
	}
	private := make([]attribute.KeyValue, len(attrs))
	for i, kv := range attrs {
		if anySecret(attrs[i : i+1]) {
			kv = clean(kv)
		}
		private[i] = kv
	}
	return private
}

// anySecret reports whether anything in the attributes has to be redacted. It is on
// the path of every span, and looks at them where they are.
func anySecret(attrs []attribute.KeyValue) bool {
	strictly := strict.Load()
	keys := DefaultRedactKeys.set
	for i := range attrs {
		kv := &attrs[i]
		if keys.MayHave(len(kv.Key)) && keys.Has(string(kv.Key)) || strictly && isRedacted(string(kv.Key), nil) {
			return true
		}
		if t := kv.Value.Type(); (t == attribute.MAP || t == attribute.SLICE) && holdsSecret(kv.Value) {
			return true
		}
	}
	return false
}

func clean(kv attribute.KeyValue) attribute.KeyValue {
	if isRedacted(string(kv.Key), nil) {
		return redact(kv)
	}
	return attribute.KeyValue{Key: kv.Key, Value: withoutSecrets(kv.Value)}
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
	case uint:
		return unsigned(uint64(v)), true
	case uint64:
		return unsigned(v), true
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
	case []int32:
		return attribute.Int64SliceValue(converted[int64](v)), true
	case []float32:
		return attribute.Float64SliceValue(converted[float64](v)), true
	case []float64:
		return attribute.Float64SliceValue(v), true
	case []any:
		return anySlice(v)
	}
	return attribute.Value{}, false
}

// unsigned is the number, or its text where OpenTelemetry's integers end.
func unsigned(v uint64) attribute.Value {
	if v > math.MaxInt64 {
		return attribute.StringValue(strconv.FormatUint(v, 10))
	}
	return attribute.Int64Value(int64(v))
}

func converted[To, From int32 | int64 | float32 | float64](vs []From) []To {
	out := make([]To, len(vs))
	for i, v := range vs {
		out[i] = To(v)
	}
	return out
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
	case int32:
		return membersOf(vs, func(v []int32) attribute.Value { return attribute.Int64SliceValue(converted[int64](v)) })
	case float32:
		return membersOf(vs, func(v []float32) attribute.Value { return attribute.Float64SliceValue(converted[float64](v)) })
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
