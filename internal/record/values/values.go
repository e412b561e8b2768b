// Package values makes values of OpenTelemetry's attributes of any Go values.
package values

import (
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
)

// Of returns the attribute value of a boolean, a number, a text, or a slice of one of
// these, and false for everything else.
func Of(v any) (attribute.Value, bool) {
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
