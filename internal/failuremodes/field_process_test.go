//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

var ignoringMain = program("FE1 Main", func() {
	cfg, err := lens.FromEnv("", "", nil)
	check(err, 90)
	lens.Main(cfg, func(ctx context.Context) error {
		ready()
		<-ctx.Done()
		return context.Cause(ctx)
	})
})

var ignoringHandler = program("FE1 ShutdownOnSignal", func() {
	lens.ShutdownOnSignal(mustSetUp())
	ready()
	for {
		makeSpans(1)
		time.Sleep(time.Millisecond)
	}
})

// startIgnoring starts a child in which the interrupt is ignored, as a shell does for
// what it runs in the background.
func startIgnoring(t *testing.T, name string, env ...string) *child {
	t.Helper()
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	c := newChild(t, name, env...)
	c.Path, c.Args = sh, []string{"sh", "-c", `trap '' INT; exec "$0"`, os.Args[0]}
	c.start(t)
	c.ready(t)
	return c
}

func TestFieldE1IgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t, otlptest.WithCountOnly())
	t.Run("Main", func(t *testing.T) {
		c := startIgnoring(t, ignoringMain, exportTo(grpcProtocol, s.GRPCURL())...)
		c.signal(t, os.Interrupt) // the first of two that are pending is taken
		c.signal(t, syscall.SIGTERM)
		require.Equal(t, 128+int(syscall.SIGTERM), c.status(t), &c.stderr)
	})
	t.Run("ShutdownOnSignal", func(t *testing.T) {
		c := startIgnoring(t, ignoringHandler, exportTo(grpcProtocol, s.GRPCURL(), "NEMO_LENS_BATCH_DELAY=1ms")...)
		c.signal(t, os.Interrupt)
		before := s.Count(otlptest.Traces)
		require.Eventually(t, func() bool { return s.Count(otlptest.Traces) > before+300 }, limit, 5*time.Millisecond, "the spans end with the signal")
		c.signal(t, syscall.SIGTERM)
		require.Equal(t, -int(syscall.SIGTERM), c.status(t), &c.stderr)
	})
}
