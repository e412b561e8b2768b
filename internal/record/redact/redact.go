// Package redact keeps text under certain keys out of what is recorded. In come the
// attributes of the application, out go those that may be recorded. What is called
// strict also looks at the last dotted part of a key, in any case.
package redact

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/gate"
)

// Mark stands in place of a value that must not be recorded.
const Mark = "[REDACTED]"

// Keys are those whose text is never recorded.
var Keys = gate.New([]string{"prompt", "input_text", "output_text", "text", "password", "token", "secret", "key"})

// Key reports whether text under the key is redacted.
func Key(key string, strict bool) bool {
	if Keys.Has(key) {
		return true
	}
	return strict && Keys.Has(strings.ToLower(key[strings.LastIndexByte(key, '.')+1:]))
}

// Any reports whether anything in the attributes has to be redacted. It is on the path
// of every span, and looks at them where they are.
func Any(attrs []attribute.KeyValue, strict bool) bool {
	for i := range attrs {
		kv := &attrs[i]
		if Keys.MayHave(len(kv.Key)) && Keys.Has(string(kv.Key)) || strict && Key(string(kv.Key), true) {
			return true
		}
		if t := kv.Value.Type(); (t == attribute.MAP || t == attribute.SLICE) && inside(kv.Value, strict) {
			return true
		}
	}
	return false
}

// inside reports whether a value has a map in it with such a key.
func inside(v attribute.Value, strict bool) bool {
	switch v.Type() {
	case attribute.MAP:
		return Any(v.AsMap(), strict)
	case attribute.SLICE:
		return slices.ContainsFunc(v.AsSlice(), func(v attribute.Value) bool { return inside(v, strict) })
	}
	return false
}

// Copy returns a copy without secrets.
func Copy(attrs []attribute.KeyValue, strict bool) []attribute.KeyValue {
	if len(attrs) == 0 {
		return nil
	}
	private := make([]attribute.KeyValue, len(attrs))
	for i, kv := range attrs {
		switch {
		case !Any(attrs[i:i+1], strict):
		case Key(string(kv.Key), strict):
			kv = Value(kv)
		default:
			kv.Value = within(kv.Value, strict)
		}
		private[i] = kv
	}
	return private
}

// Value takes the text out of a value, whatever it is wrapped in. Booleans and numbers
// stay.
func Value(kv attribute.KeyValue) attribute.KeyValue {
	switch kv.Value.Type() {
	case attribute.BOOL, attribute.INT64, attribute.FLOAT64, attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE:
		return kv
	case attribute.STRINGSLICE:
		texts := kv.Value.AsStringSlice()
		for i := range texts {
			texts[i] = Mark
		}
		return kv.Key.StringSlice(texts)
	}
	return kv.Key.String(Mark)
}

// within is the value with what its maps hold under such keys redacted.
func within(v attribute.Value, strict bool) attribute.Value {
	switch v.Type() {
	case attribute.MAP:
		return attribute.MapValue(Copy(v.AsMap(), strict)...)
	case attribute.SLICE:
		members := v.AsSlice()
		for i := range members {
			members[i] = within(members[i], strict)
		}
		return attribute.SliceValue(members...)
	}
	return v
}
