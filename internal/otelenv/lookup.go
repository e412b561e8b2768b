package otelenv

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Lookup reads one variable, as os.LookupEnv does.
type Lookup = func(name string) (string, bool)

// Warning is one sentence about a variable whose text was not used as it
// stands. It holds no secret.
type Warning string

// value is the text of a variable and its name, both empty when no variable is
// set.
type value struct{ name, text string }

func (v value) isSet() bool { return v.name != "" }

// first returns the first of the named variables that is not blank.
func first(lookup Lookup, names ...string) value {
	for _, name := range names {
		text, _ := lookup(name)
		if text = unquote(text); text != "" {
			return value{name, text}
		}
	}
	return value{}
}

// unquote takes off blanks and one pair of quotes, which files read by a
// container runtime keep as part of the value.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		s = strings.TrimSpace(s[1 : n-1])
	}
	return s
}

// shown quotes text for a message.
func shown(text string) string {
	const limit = 40
	if len(text) > limit {
		n := limit
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n] + "..."
	}
	return strconv.Quote(text)
}

func (v value) warn(want, instead string) Warning {
	return Warning(fmt.Sprintf("lens: %s=%s: want %s; using %s", v.name, shown(v.text), want, instead))
}

// limits of a whole number.
type limits struct{ def, low, high int64 }

// number reads a whole number of at least the low limit. unit is the word after
// numbers in messages, with its leading blank.
func (v value) number(l limits, unit string) (n int64, ok bool, warnings []Warning) {
	if !v.isSet() {
		return l.def, false, nil
	}
	want := fmt.Sprintf("a whole number%s from %d to %d", unit, l.low, l.high)
	def := "the default"
	if l.def > 0 {
		def = fmt.Sprintf("the default %d", l.def)
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if errors.Is(err, strconv.ErrRange) && n > 0 {
		n, err = math.MaxInt64, nil
	}
	switch {
	case err != nil || n <= 0 && l.low > 0 || n < 0:
		return l.def, false, []Warning{v.warn(want, def)}
	case n < l.low:
		return l.low, true, []Warning{v.warn(want, strconv.FormatInt(l.low, 10))}
	case n > l.high:
		return l.high, true, []Warning{v.warn(want, strconv.FormatInt(l.high, 10))}
	}
	return n, true, nil
}

// duration reads a number of milliseconds.
func (v value) duration(def, low, high time.Duration) (d time.Duration, ok bool, warnings []Warning) {
	n, ok, warnings := v.number(limits{def.Milliseconds(), low.Milliseconds(), high.Milliseconds()}, " of milliseconds")
	return time.Duration(n) * time.Millisecond, ok, warnings
}

// boolean reads the usual words for yes and no.
func (v value) boolean() (b, ok bool) {
	switch strings.ToLower(v.text) {
	case "1", "t", "true", "y", "yes", "on":
		return true, true
	case "0", "f", "false", "n", "no", "off":
		return false, true
	}
	return false, false
}
