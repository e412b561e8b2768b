package envtext

import (
	"os"
	"strings"
)

// Environment is an environment at one moment.
type Environment map[string]string

// Process returns the environment of this process as it is now. It is the only place
// of lens that reads it: a set-up reads it once and hands it on.
func Process() Environment { return Of(os.Environ()) }

// Of returns entries, in the form of os.Environ, as an Environment. Of two entries with
// one name the later counts.
func Of(entries []string) Environment {
	e := make(Environment, len(entries))
	for _, entry := range entries {
		if name, value, ok := strings.Cut(entry, "="); ok {
			e[name] = value
		}
	}
	return e
}

// Lookup reads one variable; it is a [Lookup].
func (e Environment) Lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}
