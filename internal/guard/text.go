package guard

import (
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// ValidText returns s, or, if s is not valid UTF-8, a copy in which each run of
// bad bytes is one U+FFFD.
func ValidText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, replacement)
}

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

func fixText(s string, limit int) string { return ValidText(cutText(s, limit)) }

// textFits reports whether fixText would leave s alone.
func textFits(s string, limit int) bool {
	return (limit < 0 || len(s) <= limit || utf8.RuneCountInString(s) <= limit) && utf8.ValidString(s)
}
