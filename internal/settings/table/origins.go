package table

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Default and Code are the origins of values that no variable gave.
const (
	Default = "default"
	Code    = "code"
)

// Origins knows where the values of a table came from. In the zero value no environment
// was read.
type Origins struct {
	Warnings []string // about variables under the prefixes that nothing reads
	prefixes []string
	from     map[string]string // key to variable
}

// Read fills in the fields of the settings from env. For each it takes the variable with
// the first prefix that has one; unset, empty and blank all mean "not set", and a pair of
// quotes around a text is taken off. All variables that cannot be read are reported in
// one joined error, each with its name, its text and what is accepted; their fields stay
// as they are. declared are variables under a prefix that others read.
func Read(env envtext.Environment, settings []Setting, prefixes []string, declared func(string) bool) (Origins, error) {
	o := Origins{from: make(map[string]string), prefixes: prefixes}
	var errs []error
	for _, s := range settings {
		for _, name := range s.names(prefixes) {
			text := envtext.Clean(env[name])
			if s.raw {
				text = envtext.Unquote(env[name])
			}
			if text == "" {
				continue
			}
			if err := s.parse(text); err != nil {
				errs = append(errs, fmt.Errorf("lens: %s=%q: %w", name, envtext.Shorten(text, 120), err))
			} else {
				o.from[s.Key] = name
			}
			break
		}
	}
	o.Warnings = unknown(env, settings, prefixes, declared)
	return o, errors.Join(errs...)
}

// Variable returns the variable that gave a setting, or "".
func (o Origins) Variable(key string) string { return o.from[key] }

// From is Variable for a message: " (from NAME)", or "".
func (o Origins) From(key string) string {
	if name := o.from[key]; name != "" {
		return " (from " + name + ")"
	}
	return ""
}

// SetFrom notes that variable gave a setting.
func (o Origins) SetFrom(key, variable string) { o.from[key] = variable }

// Giver names what gives a setting, for a message that asks to change it: the variable
// that it came from, else the one that would give it, and inCode where that is set or
// no environment was read.
func (o Origins) Giver(key, inCode string, set bool) string {
	switch {
	case o.from[key] != "":
		return o.from[key]
	case set || len(o.prefixes) == 0:
		return inCode
	}
	return o.prefixes[0] + "_" + key
}

// Check reports every value that its setting does not accept.
func (o Origins) Check(settings []Setting) []error {
	var errs []error
	for _, s := range settings {
		if s.check == nil {
			continue
		}
		s.check(func(of string, value any, want string) { errs = append(errs, o.Bad(s.Key, of, value, want)) })
	}
	return errs
}

// Bad is the error about the value of a setting, or of a part of one.
func (o Origins) Bad(key, of string, value any, want string) error {
	name := strings.ToLower(key)
	if of != "" {
		name += " of " + of
	}
	return fmt.Errorf("lens: %s%s is %v: %s", name, o.From(key), value, want)
}

// Row is one setting as it is shown.
type Row struct{ Name, Value, Source string }

// Rows shows the settings with where each came from. defaults are those of the default
// configuration, in the same order. No row holds a secret.
func (o Origins) Rows(settings, defaults []Setting) []Row {
	rows := make([]Row, len(settings))
	for i, s := range settings {
		r := Row{strings.ToLower(s.Key), s.show(), o.from[s.Key]}
		if r.Source == "" {
			r.Source = Default
			if r.Value != defaults[i].show() {
				r.Source = Code
			}
		}
		rows[i] = r
	}
	return rows
}
