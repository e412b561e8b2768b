package resattr

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

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

// Merge lays maps over each other, later ones winning, and takes non-empty
// values only: no attribute without a value and no empty string.
func Merge(maps ...[]attribute.KeyValue) []attribute.KeyValue {
	var l list
	for _, attrs := range maps {
		for _, kv := range attrs {
			if !isEmpty(kv.Value) {
				l.set(kv)
			}
		}
	}
	return l.attrs
}

func isEmpty(v attribute.Value) bool {
	return v.Type() == attribute.EMPTY || v.Type() == attribute.STRING && v.AsString() == ""
}

// Extend parses text, composes it with defaults and overrides, and formats the
// result, so that escapes become canonical and duplicates collapse.
func Extend(text string, defaults, overrides []attribute.KeyValue) (extended string, warnings []string) {
	current, bad := Parse(text)
	extended, warnings = Format(Compose(current, defaults, overrides))
	return extended, append(bad, warnings...)
}

// ExtendRaw appends additions to the pairs of text, which pass byte for byte.
// A key that text holds already stays as it is, or is replaced when overwrite
// is true. Additions without a value and empty strings are ignored.
func ExtendRaw(text string, additions []attribute.KeyValue, overwrite bool) (extended string, warnings []string) {
	inherited := Segments(text)
	added, warnings := Format(Merge(additions))
	news := Segments(added)
	if overwrite {
		inherited = without(inherited, news)
	} else {
		news = without(news, inherited)
	}
	return join(slices.Concat(inherited, news)), warnings
}

// Encode is the first form of handing attributes down: inherited pairs pass
// byte for byte, keys given in attrs are replaced, and attrs come last, also
// when two of their keys are equal once trimmed. Without attrs inherited is
// returned untouched.
func Encode(attrs []attribute.KeyValue, inherited string) (text string, warnings []string) {
	if len(attrs) == 0 {
		return inherited, nil
	}
	var news []Segment
	for _, kv := range attrs {
		s, ok, warning := formatPair(kv)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		if ok {
			news = append(news, s)
		}
	}
	return join(slices.Concat(without(Segments(inherited), news), news)), warnings
}

// without returns the segments whose keys do not occur in others.
func without(segments, others []Segment) []Segment {
	taken := make(map[string]bool, len(others))
	for _, s := range others {
		taken[s.Key] = true
	}
	var out []Segment
	for _, s := range segments {
		if !taken[s.Key] {
			out = append(out, s)
		}
	}
	return out
}

// Report says what [Check] found.
type Report struct {
	Missing   []string // required and not there
	Empty     []string // required and there, without a value
	Forbidden []string // there and not allowed
	Duplicate []string // given more than once
}

// OK reports whether nothing was found.
func (r Report) OK() bool {
	return len(r.Missing)+len(r.Empty)+len(r.Forbidden)+len(r.Duplicate) == 0
}

// Check holds text against the keys that it must and must not have. Each list
// of the report follows the order of its argument, duplicates the order in
// which they first repeat.
func Check(text string, required, forbidden []string) Report {
	values := map[string]string{}
	for _, s := range Segments(text) {
		_, value, _ := cutPair(s.Raw)
		values[s.Key] = value
	}
	r := Report{Duplicate: Duplicates(text)}
	for _, key := range required {
		key = strings.TrimSpace(key)
		if value, ok := values[key]; !ok {
			r.Missing = append(r.Missing, key)
		} else if value == "" {
			r.Empty = append(r.Empty, key)
		}
	}
	for _, key := range forbidden {
		if _, ok := values[strings.TrimSpace(key)]; ok {
			r.Forbidden = append(r.Forbidden, strings.TrimSpace(key))
		}
	}
	return r
}
