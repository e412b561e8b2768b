package gym

import (
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clearEnv hides what the machine's environment says about telemetry until the
// test ends.
func clearEnv(t testing.TB) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "NEMO_") || strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "SLURM_") {
			os.Unsetenv(name)
			t.Cleanup(func() { os.Setenv(name, value) })
		}
	}
	before := os.Environ()
	t.Cleanup(func() {
		known := lookupIn(before)
		for _, entry := range os.Environ() {
			if name, _, _ := strings.Cut(entry, "="); name != "" {
				if _, ok := known(name); !ok {
					os.Unsetenv(name)
				}
			}
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// captureLog makes the default logger write to w until the test ends.
func captureLog(t testing.TB, w io.Writer) {
	before, out, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(textLogger(w))
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(out)
		log.SetFlags(flags)
	})
}

// noMoreGoroutines waits until there are no more goroutines than before: those of earlier
// tests may still be ending.
func noMoreGoroutines(t *testing.T, before int) {
	t.Helper()
	// The condition has a goroutine of its own.
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 30*time.Second, time.Millisecond)
}
