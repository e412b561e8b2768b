// Package nearest finds the name that somebody probably meant.
package nearest

import (
	"fmt"
	"slices"
	"strings"
)

// maxLength bounds the work: longer texts, in bytes, are not misspelt names.
const maxLength = 64

// Nearest returns the candidate nearest to word by restricted
// Damerau-Levenshtein distance (insert, delete, replace, swap neighbours), in
// any case. It returns false when none is near: the distance may be a third of
// the length of word, and at least 1, and must be less than the length of the
// candidate. Lengths and distances count characters. Of equally near
// candidates the first in alphabetical order is taken.
func Nearest(word string, candidates []string) (string, bool) {
	if word == "" || len(word) > maxLength {
		return "", false
	}
	w := []rune(strings.ToLower(word))
	best, bestDistance := "", max(1, len(w)/3)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if c == "" || len(c) > maxLength {
			continue
		}
		r := []rune(strings.ToLower(c))
		if d := distance(w, r); d < bestDistance && d < len(r) {
			best, bestDistance = c, d
		}
	}
	return best, best != ""
}

// DidYouMean returns a parenthesis to put after a misspelt name, or nothing.
func DidYouMean(name string, candidates []string) string {
	if near, ok := Nearest(name, candidates); ok {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// distance takes texts of at most maxLength characters. They are characters
// because lower case can be longer in bytes, and never in characters.
func distance(a, b []rune) int {
	var rows [3][maxLength + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		now, before, twoBefore := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(before[j]+1, now[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], twoBefore[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
