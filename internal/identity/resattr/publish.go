package resattr

import (
	"os"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Environ returns env, in the form of os.Environ, with attrs laid over the
// attributes that it carries: for exec.Cmd.Env of a child process. The result is
// a new slice; env is not changed. Of several entries for the variable the last
// counts, as in exec.Cmd. Without attrs, and where there would be nothing to
// write, the variable stays as it was. What cannot be written is left out, see
// [Format].
func Environ(env []string, attrs []attribute.KeyValue) []string {
	var current string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, EnvVar+"="); ok {
			current = value
		}
	}
	if len(attrs) == 0 {
		return slices.Clone(env)
	}
	text, _ := Extend(envtext.Clean(current), nil, attrs)
	out := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, EnvVar+"=") {
			out = append(out, entry)
		}
	}
	if text == "" {
		return out
	}
	return append(out, EnvVar+"="+text)
}

// Publish writes exactly attrs into OTEL_RESOURCE_ATTRIBUTES of this process,
// where children that are started elsewhere will find them; use [Compose] and
// [Parse] to keep what is there. restore puts the earlier state back, a variable
// that did not exist included, and does so once however often it is called.
// Several publications nest: restore them in reverse order. On an error nothing
// was changed and restore does nothing.
func Publish(attrs []attribute.KeyValue) (restore func(), warnings []string, err error) {
	text, warnings := Format(attrs)
	before, existed := os.LookupEnv(EnvVar)
	if err := os.Setenv(EnvVar, text); err != nil {
		return func() {}, warnings, err
	}
	return sync.OnceFunc(func() {
		if existed {
			_ = os.Setenv(EnvVar, before) // the same text was there before
		} else {
			_ = os.Unsetenv(EnvVar)
		}
	}), warnings, nil
}
