package resattr

import "go.opentelemetry.io/otel/attribute"

// list is an ordered map: a key that is set again keeps its place.
type list struct {
	attrs []attribute.KeyValue
	index map[attribute.Key]int
}

func (l *list) set(kv attribute.KeyValue) {
	if i, ok := l.index[kv.Key]; ok {
		l.attrs[i] = kv
		return
	}
	if l.index == nil {
		l.index = map[attribute.Key]int{}
	}
	l.index[kv.Key] = len(l.attrs)
	l.attrs = append(l.attrs, kv)
}

// Compose lays the three maps over each other: defaults, then current, then
// overrides. Attributes without a value and empty strings are ordinary values.
func Compose(current, defaults, overrides []attribute.KeyValue) []attribute.KeyValue {
	var l list
	for _, attrs := range [][]attribute.KeyValue{defaults, current, overrides} {
		for _, kv := range attrs {
			l.set(kv)
		}
	}
	return l.attrs
}

// Extend parses text, composes it with defaults and overrides, and formats the
// result, so that escapes become canonical and duplicates collapse.
func Extend(text string, defaults, overrides []attribute.KeyValue) (extended string, warnings []string) {
	current, bad := Parse(text)
	extended, warnings = Format(Compose(current, defaults, overrides))
	return extended, append(bad, warnings...)
}
