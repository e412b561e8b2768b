package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// beMain makes the test binary the program itself, in the processes that it
// starts, too.
const beMain = "RANKS_TEST_BE_MAIN"

// endAtOnce is for the race detector, which waits a second at every exit.
const endAtOnce = "GORACE=atexit_sleep_ms=0"

// within is far more than anything here takes; reaching it is a failure.
const within = 5 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// command is the program as a process of its own, with the telemetry variables
// given and no others.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "NEMO_LENS_") && !strings.HasPrefix(entry, "OTEL_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(append(cmd.Env, env...), beMain+"=1", endAtOnce)
	return cmd
}

// program runs it to the end.
func program(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// lockedBuffer can be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}
