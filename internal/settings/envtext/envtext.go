// Package envtext reads the text of environment variables: one way to clean it,
// one to read a boolean, one to shorten it for a message, and one type for what
// is worth a warning. Every reader of variables in lens uses it, so that one text
// means the same in all of them.
//
// Everything here is safe for concurrent use.
package envtext

import (
	"errors"
	"strconv"
	"strings"

	"github.com/nemo-lens/lens/internal/report/shorten"
)

// Lookup reads one variable, as os.LookupEnv does.
type Lookup = func(name string) (string, bool)

// Warning is a sentence for a log about something that did not fail and deserves
// a look. It holds no secret.
type Warning string

// String returns the sentence.
func (w Warning) String() string { return string(w) }

// Clean takes off surrounding blanks and one pair of surrounding quotes, single
// or double. Files that a container runtime reads, as docker --env-file does,
// keep the quotes that a shell would take off.
func Clean(text string) string {
	return strings.TrimSpace(Unquote(strings.TrimSpace(text)))
}

// Unquote takes off one pair of surrounding quotes and leaves blanks alone.
func Unquote(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// First returns the first of the variables that is not blank, cleaned, and its
// name. Both are empty when there is none.
func First(lookup Lookup, names ...string) (text, name string) {
	for _, name := range names {
		text, _ := lookup(name)
		if text = Clean(text); text != "" {
			return text, name
		}
	}
	return "", ""
}

// Bools says what [Bool] accepts.
const Bools = "one of 1, true, yes, on, 0, false, no, off, in any case"

// Bool reads a clean text as a boolean.
func Bool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	}
	return false, errors.New("want " + Bools)
}

// Shorten cuts text to at most limit bytes, at a rune, so that a variable that
// holds a whole file does not flood a log.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return shorten.Bytes(text, limit) + "..."
}

// Quote shortens text and puts it in quotes, for a message.
func Quote(text string) string { return strconv.Quote(Shorten(text, 40)) }
