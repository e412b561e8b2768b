package guard

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/report"
)

const (
	// DefaultTextLimit is in characters.
	DefaultTextLimit = 64 << 10

	// minNameLimit keeps a small limit, meant for values, from cutting names.
	minNameLimit = 4096

	replacement = "\uFFFD"
)

// TextLimits are the most characters that text may have; negative: no limit.
type TextLimits struct {
	Value int // attribute values, as many bytes of those that are bytes, and status text
	Name  int // names of spans and events
}

// LimitsOf returns the limits for values of so many characters; 0 means
// [DefaultTextLimit] and a negative number no limit. Names may always have 4096.
func LimitsOf(value int) TextLimits {
	switch {
	case value < 0:
		return TextLimits{-1, -1}
	case value == 0:
		value = DefaultTextLimit
	}
	return TextLimits{value, max(value, minNameLimit)}
}

// isValid is utf8.ValidString, faster for the short ASCII text that names, keys and
// most values are: words that overlap instead of single bytes.
func isValid(s string) bool {
	const high = 0x8080808080808080
	n := len(s)
	b := unsafe.Slice(unsafe.StringData(s), n)
	var all uint64
	switch {
	case n > 64:
		return utf8.ValidString(s)
	case n >= 8:
		for i := 8; i < n; i += 8 {
			all |= binary.NativeEndian.Uint64(b[i-8:])
		}
		all |= binary.NativeEndian.Uint64(b[n-8:])
	case n >= 4:
		all = uint64(binary.NativeEndian.Uint32(b) | binary.NativeEndian.Uint32(b[n-4:]))
	case n > 0:
		all = uint64(b[0] | b[n/2] | b[n-1])
	}
	return all&high == 0 || utf8.ValidString(s)
}

// ValidText returns s, or, if s is not valid UTF-8, a copy in which each run of
// bad bytes is one U+FFFD.
func ValidText(s string) string {
	if isValid(s) {
		return s
	}
	return strings.ToValidUTF8(s, replacement)
}

// FixText is ValidText of at most limit characters of s; a bad byte counts as one. A
// negative limit is none.
func FixText(s string, limit int) string { return ValidText(cutText(s, limit)) }

// cutText returns at most limit characters of s; a bad byte counts as one. A
// negative limit is none.
func cutText(s string, limit int) string {
	if limit < 0 || len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// WarnRepaired says that a span of that name had text that is not as it was.
func WarnRepaired(log *report.Log, span string, l TextLimits) {
	log.Warn("text repaired", "lens: text in spans that is not UTF-8 was repaired, or was longer than the limit and cut",
		"span", FixText(span, l.Name), "text_limit", l.Value)
}

// WarnDropped says what the span limits cost s.
func WarnDropped(log *report.Log, s sdktrace.ReadOnlySpan) {
	if attributes, events, links := s.DroppedAttributes(), s.DroppedEvents(), s.DroppedLinks(); attributes > 0 || events > 0 || links > 0 {
		log.Warn("span limits", "lens: a span lost attributes, events or links to the span limits: raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, OTEL_SPAN_EVENT_COUNT_LIMIT or OTEL_SPAN_LINK_COUNT_LIMIT",
			"span", FixText(s.Name(), minNameLimit), "attributes", attributes, "events", events, "links", links)
	}
}
