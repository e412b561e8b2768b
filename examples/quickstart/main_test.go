package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// beMain, when set, makes the test binary run the program itself: that is how the
// tests start it as a child process.
const beMain = "LENS_QUICKSTART_TEST_BE_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs the program as a process of its own, with the telemetry variables
// given and no others.
func child(t *testing.T, env ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "NEMO_LENS_") && !strings.HasPrefix(entry, "OTEL_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(append(cmd.Env, env...), beMain+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestRunsWithTelemetryOff(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := child(t)
	assert.Zero(t, code)
	assert.Empty(t, stdout)
	assert.Empty(t, stderr)
}
