package report

import "go.opentelemetry.io/otel/attribute"

// Value is an attribute in a form that JSON has, of a length that a page or a line of
// the log takes.
func Value(v attribute.Value) any {
	switch v.Type() {
	case attribute.BOOL:
		return v.AsBool()
	case attribute.INT64:
		return v.AsInt64()
	}
	const most = 200
	text := []rune(v.String())
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
