package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Lookup and Warning are those of all readers of variables.
type (
	Lookup  = envtext.Lookup
	Warning = envtext.Warning
)

// value is the text of a variable and its name, both empty when no variable is
// set.
type value struct{ name, text string }

func (v value) isSet() bool { return v.name != "" }

// first returns the first of the named variables that is not blank.
func first(lookup Lookup, names ...string) value {
	text, name := envtext.First(lookup, names...)
	return value{name, text}
}

func unquote(text string) string { return envtext.Clean(text) }

func shown(text string) string { return envtext.Quote(text) }

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

func (v value) boolean() (b, ok bool) {
	b, err := envtext.Bool(v.text)
	return b, err == nil
}
