// Package programtest lets the tests of an example run it as a process of its own:
// the test binary, which calls the program where it would run its tests.
//
//	func TestMain(m *testing.M) {
//		if programtest.IsProgram() {
//			main()
//			…
package programtest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Within is far more than a program here takes; reaching it is a failure.
const Within = 5 * time.Minute

// Variables make the test binary the program, in the processes that it starts,
// too. The race detector would wait a second at every exit.
var Variables = map[string]string{"LENS_EXAMPLE_IS_PROGRAM": "1", "GORACE": "atexit_sleep_ms=0"}

// IsProgram reports whether this process is to be the program.
func IsProgram() bool { return os.Getenv("LENS_EXAMPLE_IS_PROGRAM") != "" }

// Command is the program, with the telemetry variables given and no others. It is
// killed at the end of the test, or after Within.
func Command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), Within)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "NEMO_") && !strings.HasPrefix(name, "OTEL_") && name != "SLURM_JOB_ID" {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	for name, value := range Variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// Run runs a command to its end.
func Run(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	return Wait(t, cmd), out.String(), errs.String()
}

// Wait waits for the end of a command that was started, and returns its exit code.
func Wait(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return cmd.ProcessState.ExitCode()
}
