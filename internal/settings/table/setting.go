package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nemo-lens/lens/internal/report/nearest"
	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Setting binds one variable to one field.
type Setting struct {
	Key string // after the prefix; the whole name with Bare

	parse func(text string) error
	show  func() string
	check func(bad Report) // nil when every value is good
	bare  bool
	raw   bool
}

// Report takes one thing that is wrong with a value: what it belongs to, empty for the
// setting itself, the value, and what is accepted.
type Report func(of string, value any, want string)

// Bare returns s as a variable without a prefix.
func (s Setting) Bare() Setting { s.bare = true; return s }

// Raw returns s with the blanks around its text kept.
func (s Setting) Raw() Setting { s.raw = true; return s }

// Unchecked returns s with any value taken that is set in code.
func (s Setting) Unchecked() Setting { s.check = nil; return s }

// names returns the variables that can give the setting, first choice first.
func (s Setting) names(prefixes []string) []string {
	if s.bare {
		return []string{s.Key}
	}
	names := make([]string, len(prefixes))
	for i, p := range prefixes {
		names[i] = p + "_" + s.Key
	}
	return names
}

// New makes a setting from what it does. check may be nil.
func New(key string, parse func(string) error, show func() string, check func(Report)) Setting {
	return Setting{Key: key, parse: parse, show: show, check: check}
}

// store makes a setting whose text is read by parse. A text that cannot be read leaves
// the field as it is.
func store[T any](key string, field *T, parse func(string) (T, error), show func(T) string) Setting {
	return New(key, func(text string) error {
		v, err := parse(text)
		if err == nil {
			*field = v
		}
		return err
	}, func() string { return show(*field) }, nil)
}

// Bool is a switch.
func Bool(key string, field *bool) Setting {
	return store(key, field, envtext.Bool, strconv.FormatBool)
}

// OptionalBool is a switch that can be unset.
func OptionalBool(key string, field **bool) Setting {
	return store(key, field, func(text string) (*bool, error) {
		v, err := envtext.Bool(text)
		return &v, err
	}, func(v *bool) string {
		if v == nil {
			return `""`
		}
		return strconv.FormatBool(*v)
	})
}

// Text is any text.
func Text(key string, field *string) Setting { return textShown(key, field, strconv.Quote) }

func textShown(key string, field *string, show func(string) string) Setting {
	return store(key, field, func(text string) (string, error) { return text, nil }, show)
}

const redacted = "[REDACTED]"

// Secret is a text that is never shown.
func Secret(key string, field *string) Setting {
	return textShown(key, field, func(text string) string {
		if text == "" {
			return `""`
		}
		return redacted
	})
}

// Endpoint is a text whose user-info, query and fragment, which may hold a password,
// are not shown.
func Endpoint(key string, field *string) Setting {
	return textShown(key, field, func(text string) string {
		if at := strings.LastIndexByte(text, '@'); at >= 0 {
			text = redacted + text[at:]
		}
		if end := strings.IndexAny(text, "?#"); end >= 0 {
			text = text[:end+1] + redacted
		}
		return strconv.Quote(text)
	})
}

// OneOf is a name out of a list. It is checked and not parsed, so that all that is
// wrong with a name is reported in one place. want says what the names are.
func OneOf(key string, field *string, want string, names ...string) Setting {
	s := Text(key, field)
	s.check = func(bad Report) {
		if !slices.Contains(names, *field) {
			bad("", strconv.Quote(*field), want+nearest.DidYouMean(*field, names))
		}
	}
	return s
}

// Count is a whole number of things from 1 to most; 0 in code is the default.
func Count(key string, field *int, most int, things string) Setting {
	s := whole(key, field, 1, most, fmt.Sprintf("want a whole number of %s from 1 to %d", things, most))
	s.check = func(bad Report) {
		if *field < 0 || *field > most {
			bad("", *field, fmt.Sprintf("want a number of %s from 1 to %d, or 0 for the default", things, most))
		}
	}
	return s
}

// Rank is a whole number of 32 bits of which a negative one means the last rank.
func Rank(key string, field *int) Setting {
	return whole(key, field, math.MinInt32, math.MaxInt32, "want a whole number; a negative one means the last rank")
}

func whole(key string, field *int, low, high int, want string) Setting {
	return store(key, field, func(text string) (int, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < int64(low) || n > int64(high) {
			return 0, errors.New(want)
		}
		return int(n), nil
	}, strconv.Itoa)
}

// Rate is a number from 0 to 1.
func Rate(key string, field *float64) Setting {
	good := func(v float64) bool { return v >= 0 && v <= 1 } // not NaN
	s := store(key, field, func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		// ParseFloat also takes hexadecimal and underscores, the reference does not.
		if err != nil || strings.ContainsAny(text, "xX_") || !good(v) {
			return 0, fmt.Errorf("%s: want a number from 0 to 1, for example 0.25", strings.ToLower(key))
		}
		return v, nil
	}, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
	s.check = func(bad Report) {
		if !good(*field) {
			bad("", *field, "want a number from 0 to 1")
		}
	}
	return s
}

// Size is a number of bytes of at least least, or 0 for what zero says.
func Size(key string, field *int64, least int64, zero string) Setting {
	s := store(key, field, parseSize, func(n int64) string { return strconv.FormatInt(n, 10) })
	s.check = func(bad Report) {
		if *field != 0 && *field < least {
			bad("", *field, fmt.Sprintf("want a number of bytes from %d, or 0 for %s", least, zero))
		}
	}
	return s
}

// parseSize takes a whole number of bytes, or of kB, MB and GB (powers of 1000) or KiB,
// MiB and GiB (powers of 1024), in any case.
func parseSize(text string) (int64, error) {
	units := []struct {
		name  string
		bytes int64
	}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1}, {"", 1}}
	lower := strings.ToLower(text)
	for _, u := range units {
		digits, ok := strings.CutSuffix(lower, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, errors.New(`want a size such as "100MB" or "1GiB", or a whole number of bytes`)
}

// Duration is a time between two bounds, or 0 for what zero says. A variable of less
// than least is read, and is then reported by the check.
func Duration(key string, field *time.Duration, least, most time.Duration, zero string) Setting {
	s := store(key, field, func(text string) (time.Duration, error) { return parseDuration(text, most) }, time.Duration.String)
	s.check = func(bad Report) {
		if *field != 0 && (*field < least || *field < 0 || *field > most) {
			bad("", *field, wantDuration(least, most, zero))
		}
	}
	return s
}

// wantDuration says which times are accepted in code.
func wantDuration(least, most time.Duration, zero string) string {
	if least > 0 {
		return fmt.Sprintf("want a time from %s to %gh, or 0 for %s", least, most.Hours(), zero)
	}
	return fmt.Sprintf("want a time up to %gh, or 0 for %s", most.Hours(), zero)
}

// parseDuration takes a Go duration, or a whole number of milliseconds as in the OTEL_*
// variables, up to most.
func parseDuration(text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if ms, msErr := strconv.ParseInt(text, 10, 32); msErr == nil {
		d, err = time.Duration(ms)*time.Millisecond, nil
	}
	if err != nil || d < 0 || d > most {
		return 0, fmt.Errorf(`want a time up to %gh such as "500ms" or "5s", or a whole number of milliseconds`, most.Hours())
	}
	return d, nil
}
