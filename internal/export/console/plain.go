package console

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// marshal is json.Marshal for OpenTelemetry's data, and where that fails on a
// number or a time it gives what JSON can hold, under the same names.
func marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err == nil {
		return b, nil
	}
	return json.Marshal(plain(reflect.ValueOf(v)))
}

// plain rebuilds v from maps, lists and scalars, the way encoding/json reads it,
// for the types that occur in metric and log data.
func plain(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Time:
			t, _ := jsonTime(x)
			return t
		case attribute.Value:
			f, _ := finiteValue(x)
			return f
		case attribute.Set:
			attrs, _ := finiteAttributes(x.ToSlice())
			return attrs
		case *resource.Resource:
			r, _ := finiteResource(x)
			return r
		case metricdata.Extrema[float64]:
			return extremum(x.Value())
		case metricdata.Extrema[int64]:
			return extremum(x.Value())
		case json.Marshaler, encoding.TextMarshaler:
			if v.Kind() != reflect.Pointer {
				return x
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return plain(v.Elem())
	case reflect.Float32, reflect.Float64:
		return number(v.Float())
	case reflect.Struct:
		out := map[string]any{}
		for _, f := range reflect.VisibleFields(v.Type()) {
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || len(f.Index) > 1 || name == "-" {
				continue
			}
			if name == "" {
				name = f.Name
			}
			e := v.FieldByIndex(f.Index)
			if strings.Contains(opts, "omitempty") && empty(e) {
				continue
			}
			out[name] = plain(e)
		}
		return out
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Interface()
		}
		fallthrough
	case reflect.Array:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	}
	return v.Interface()
}

// empty is encoding/json's idea of it.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func number(f float64) any {
	if isFinite(f) {
		return f
	}
	return attribute.Float64Value(f).String()
}

func extremum[N int64 | float64](v N, defined bool) any {
	if !defined {
		return nil
	}
	if f, ok := any(v).(float64); ok {
		return number(f)
	}
	return v
}
