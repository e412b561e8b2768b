package record

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// limits are the SDK's, with the depth always set.
type limits struct{ sdktrace.SpanLimits }

func newLimits(l sdktrace.SpanLimits) limits {
	if l.AttributeValueDepthLimit == 0 {
		l.AttributeValueDepthLimit = sdktrace.DefaultAttributeValueDepthLimit
	}
	return limits{l}
}

// concern reports whether fit may change v. It is asked of every attribute.
func (l *limits) concern(v *attribute.Value) bool {
	switch v.Type() {
	case attribute.BOOL, attribute.INT64, attribute.FLOAT64:
		return false
	case attribute.STRING:
		return l.AttributeValueLengthLimit >= 0 && len(v.AsString()) > l.AttributeValueLengthLimit
	case attribute.STRINGSLICE, attribute.BYTESLICE:
		return l.AttributeValueLengthLimit >= 0
	case attribute.SLICE, attribute.MAP:
		return true
	}
	return false
}

// fit replaces the value by one with no key of a map twice, nothing deeper than the
// limit, and no text longer than the limit.
func (l *limits) fit(v *attribute.Value) {
	*v, _ = fit(*v, l.AttributeValueDepthLimit, l.AttributeValueLengthLimit)
}

// fitAll does the same for attributes of events and links, whose texts have no
// limit. The same slice comes back when nothing has to change.
func (l *limits) fitAll(attrs []attribute.KeyValue) []attribute.KeyValue {
	out := attrs
	for i := range attrs {
		switch attrs[i].Value.Type() {
		case attribute.SLICE, attribute.MAP:
		default:
			continue
		}
		v, changed := fit(attrs[i].Value, l.AttributeValueDepthLimit, -1)
		if !changed {
			continue
		}
		if &out[0] == &attrs[0] {
			out = append([]attribute.KeyValue(nil), attrs...)
		}
		out[i].Value = v
	}
	return out
}

// fit takes the depth that is left, and a length; less than 0 is no limit.
func fit(v attribute.Value, depth, length int) (_ attribute.Value, changed bool) {
	t := v.Type()
	if depth == 0 && t >= attribute.BOOLSLICE {
		return attribute.Value{}, true
	}
	switch t {
	case attribute.STRING:
		if s := v.AsString(); length >= 0 && len(s) > length {
			if cut := cutText(s, length); cut != s {
				return attribute.StringValue(cut), true
			}
		}
	case attribute.BYTESLICE:
		if s := v.AsString(); length >= 0 && len(s) > length {
			return attribute.ByteSliceValue([]byte(s[:length])), true
		}
	case attribute.STRINGSLICE:
		if length < 0 {
			break
		}
		texts := v.AsStringSlice() // a copy
		for i, s := range texts {
			if cut := cutText(s, length); cut != s {
				texts[i], changed = cut, true
			}
		}
		if changed {
			return attribute.StringSliceValue(texts), true
		}
	case attribute.SLICE:
		members := v.AsSlice() // a copy
		for i, m := range members {
			if fitted, c := fit(m, depth-1, length); c {
				members[i], changed = fitted, true
			}
		}
		if changed {
			return attribute.SliceValue(members...), true
		}
	case attribute.MAP:
		members := v.AsMap() // a copy, sorted by key, of equal ones the last set last
		unique := members[:0]
		for i, kv := range members {
			if i+1 < len(members) && members[i+1].Key == kv.Key {
				changed = true
				continue
			}
			if fitted, c := fit(kv.Value, depth-1, length); c {
				kv.Value, changed = fitted, true
			}
			unique = append(unique, kv)
		}
		if changed {
			return attribute.MapValue(unique...), true
		}
	}
	return v, false
}

// cutText returns s if it has at most limit bytes, and otherwise its first limit
// characters without bytes that are not UTF-8. Less than 0 is no limit.
func cutText(s string, limit int) string {
	if limit < 0 || len(s) <= limit {
		return s
	}
	var kept strings.Builder
	n, broken := 0, false
	for i := 0; i < len(s) && n < limit; {
		_, size := utf8.DecodeRuneInString(s[i:])
		bad := size == 1 && s[i] >= utf8.RuneSelf
		if bad && !broken {
			broken = true
			kept.WriteString(s[:i])
		}
		if !bad {
			if broken {
				kept.WriteString(s[i : i+size])
			}
			n++
		}
		i += size
		if n == limit && !broken {
			return s[:i]
		}
	}
	switch {
	case broken:
		return kept.String()
	case limit == 0:
		return ""
	}
	return s
}
