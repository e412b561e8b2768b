//go:build !lens_noop && unix

package failuremodes

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// child is a process that runs one of the child programs.
type child struct {
	*exec.Cmd
	stdout, stderr buffer
	started        time.Time
	took           time.Duration // from the start, or from the last signal, to the end
}

// newChild prepares a child with a bare environment and env, the later value of a
// variable winning.
func newChild(t *testing.T, name string, env ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append([]string{
		childVariable + "=" + name, "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
	}, env...)
	c.Stdout, c.Stderr = &c.stdout, &c.stderr
	return c
}

func startChild(t *testing.T, name string, env ...string) *child {
	t.Helper()
	c := newChild(t, name, env...)
	c.start(t)
	return c
}

func runChild(t *testing.T, name string, env ...string) *child {
	t.Helper()
	c := startChild(t, name, env...)
	c.status(t)
	return c
}

func (c *child) start(t *testing.T) {
	t.Helper()
	c.started = time.Now()
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
}

// ready waits until the child has written the word ready.
func (c *child) ready(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(c.stdout.String(), "ready\n") }, limit, 5*time.Millisecond,
		"the child is not ready: %s", &c.stderr)
}

func (c *child) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	c.started = time.Now()
	require.NoError(t, c.Process.Signal(sig))
}

// status waits for the end and returns the exit status, or minus the signal.
func (c *child) status(t *testing.T) int {
	t.Helper()
	if c.ProcessState == nil {
		kill := time.AfterFunc(2*limit, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		var exit *exec.ExitError
		if err := c.Wait(); err != nil && !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		c.took = time.Since(c.started)
	}
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		return -int(ws.Signal())
	}
	return c.ProcessState.ExitCode()
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// exportTo is the environment of a child that exports every group to the receiver.
func exportTo(protocol, url string, more ...string) []string {
	return append([]string{
		"NEMO_LENS_ENABLED=1", "NEMO_LENS_SPAN_GROUPS=all", "NEMO_LENS_METRICS_ENABLED=0", "NEMO_LENS_RUN_ID=run-7", "NEMO_LENS_SHUTDOWN_TIMEOUT=30s",
		"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol, "OTEL_EXPORTER_OTLP_ENDPOINT=" + url,
	}, more...)
}

// mustSetUp sets a child up from its environment.
func mustSetUp(opts ...lens.Option) *lens.TelemetryHandle {
	cfg, err := lens.FromEnv("", "", nil)
	check(err, 90)
	h, err := lens.SetupTelemetry(context.Background(), cfg, opts...)
	check(err, 91)
	return h
}

func check(err error, status int) {
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(status)
	}
}

func ready() { _, _ = os.Stdout.WriteString("ready\n") }

// waitToBeKilled is the end of a child that a signal is to end.
func waitToBeKilled() { <-make(chan struct{}) }

// urlOf returns the receiver's address for the protocol.
func urlOf(s *otlptest.Server, protocol string) string {
	if protocol == grpcProtocol {
		return s.GRPCURL()
	}
	return s.HTTPURL()
}

func namesOf(spans []otlptest.Span) map[string]int {
	names := map[string]int{}
	for _, s := range spans {
		names[s.Name]++
	}
	return names
}
