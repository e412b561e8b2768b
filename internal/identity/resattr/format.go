package resattr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Format writes attrs as key=value pairs. Keys are trimmed, and of a key given
// twice the last value wins, at the place of the first. An attribute without a
// value is left out and an empty string is kept as "key=". What the format
// cannot hold is dropped and named in a warning: a key that is empty or has a
// comma, an equals sign or a NUL byte, a slice, and text that is not valid
// UTF-8. Bools become True and False, floats are written by [FormatFloat].
func Format(attrs []attribute.KeyValue) (text string, warnings []string) {
	var pairs []pair
	index := make(map[string]int, len(attrs))
	for _, kv := range attrs {
		s, ok, warning := formatPair(kv)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		if !ok {
			continue
		}
		if i, again := index[s.key]; again {
			pairs[i] = s
			continue
		}
		index[s.key] = len(pairs)
		pairs = append(pairs, s)
	}
	return join(pairs), warnings
}

// pair is one attribute as it is written.
type pair struct{ key, text string }

// formatPair writes one attribute. An attribute without a value is neither ok
// nor worth a warning.
func formatPair(kv attribute.KeyValue) (p pair, ok bool, warning string) {
	if kv.Value.Type() == attribute.EMPTY {
		return p, false, ""
	}
	key := strings.TrimSpace(string(kv.Key))
	drop := func(reason string) (pair, bool, string) {
		return pair{}, false, fmt.Sprintf("resource attribute %s is not handed down: %s", envtext.Quote(string(kv.Key)), reason)
	}
	switch {
	case key == "":
		return drop("its key is empty")
	case strings.ContainsAny(key, ",=\x00"):
		return drop("its key has a character that " + EnvVar + " cannot hold")
	case !utf8.ValidString(key):
		return drop("its key is not valid UTF-8")
	}
	text, isScalar := scalarText(kv.Value)
	switch {
	case !isScalar:
		return drop("its value is a " + kv.Value.Type().String() + ", only text, numbers and booleans can be")
	case !utf8.ValidString(text):
		return drop("its value is not valid UTF-8")
	}
	return pair{key: key, text: key + "=" + escape(text)}, true, ""
}

func scalarText(v attribute.Value) (text string, ok bool) {
	switch v.Type() {
	case attribute.STRING:
		return v.AsString(), true
	case attribute.INT64:
		return strconv.FormatInt(v.AsInt64(), 10), true
	case attribute.FLOAT64:
		return FormatFloat(v.AsFloat64()), true
	case attribute.BOOL:
		if v.AsBool() {
			return "True", true
		}
		return "False", true
	}
	return "", false
}

func join(pairs []pair) string {
	var b strings.Builder
	for i, s := range pairs {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s.text)
	}
	return b.String()
}

// escape percent-encodes everything but A-Z a-z 0-9 - _ . ~.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
