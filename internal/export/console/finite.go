package console

import (
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// finiteValue returns v with text for each number that JSON cannot hold.
func finiteValue(v attribute.Value) (out attribute.Value, changed bool) {
	switch v.Type() {
	case attribute.FLOAT64:
		if !isFinite(v.AsFloat64()) {
			return attribute.StringValue(v.String()), true
		}
	case attribute.FLOAT64SLICE:
		numbers := v.AsFloat64Slice()
		if !slices.ContainsFunc(numbers, func(f float64) bool { return !isFinite(f) }) {
			return v, false
		}
		texts := make([]string, len(numbers))
		for i, f := range numbers {
			texts[i] = attribute.Float64Value(f).String()
		}
		return attribute.StringSliceValue(texts), true
	case attribute.SLICE:
		values := v.AsSlice() // a copy
		for i, e := range values {
			if f, c := finiteValue(e); c {
				values[i], changed = f, true
			}
		}
		if changed {
			return attribute.SliceValue(values...), true
		}
	case attribute.MAP:
		if kvs, c := finiteAttributes(v.AsMap()); c {
			return attribute.MapValue(kvs...), true
		}
	}
	return v, false
}

func finiteAttributes(attrs []attribute.KeyValue) (out []attribute.KeyValue, changed bool) {
	out = attrs
	for i, kv := range attrs {
		v, c := finiteValue(kv.Value)
		if !c {
			continue
		}
		if !changed {
			out, changed = slices.Clone(attrs), true
		}
		out[i].Value = v
	}
	return out, changed
}

func finiteResource(r *resource.Resource) (*resource.Resource, bool) {
	if attrs, changed := finiteAttributes(r.Attributes()); changed {
		return resource.NewWithAttributes(r.SchemaURL(), attrs...), true
	}
	return r, false
}

func finiteScope(s instrumentation.Scope) (instrumentation.Scope, bool) {
	if s.Attributes.Len() == 0 {
		return s, false
	}
	attrs, changed := finiteAttributes(s.Attributes.ToSlice())
	if changed {
		s.Attributes = attribute.NewSet(attrs...)
	}
	return s, changed
}

// jsonTime returns t as a time that JSON can hold.
func jsonTime(t time.Time) (time.Time, bool) {
	switch y := t.UTC().Year(); {
	case y < 1:
		return time.Time{}, true
	case y > 9998: // an offset must not carry it over the end
		return time.Date(9998, 12, 31, 23, 59, 59, 999999999, time.UTC), true
	}
	return t, false
}
