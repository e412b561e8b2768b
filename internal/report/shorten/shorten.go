// Package shorten cuts texts for messages and records of a limited size.
package shorten

import "unicode/utf8"

// Bytes returns the longest beginning of s that has at most limit bytes and ends
// between two characters.
func Bytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:max(limit, 0)]
}
