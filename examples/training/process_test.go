//go:build !lens_noop

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/examples/internal/programtest"
)

// child runs the program as a process of its own.
func child(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return programtest.Run(t, programtest.Command(t, env, args...))
}

func TestConsoleExporterOwnsStandardOutput(t *testing.T) {
	t.Parallel()
	for _, test := range groupCases {
		t.Run(test.spec, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := child(t, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console",
				"NEMO_LENS_METRICS_ENABLED=0", "NEMO_LENS_SPAN_GROUPS=" + test.spec})
			require.Equal(t, exitOK, code, stderr)
			require.True(t, strings.HasSuffix(stdout, "\n"))
			got := map[string]int{}
			for line := range strings.Lines(stdout) {
				var span struct{ Name string }
				require.NoError(t, json.Unmarshal([]byte(line), &span), "one JSON object: %s", line)
				got[span.Name]++
			}
			assert.Equal(t, test.want, got)
			checkTable(t, test.want, stderr)
			assert.Contains(t, stderr, "accuracy")
			assert.Contains(t, stderr, " 0 lost (0 dropped, 0 failed)")
		})
	}
}

func TestProcessWithTelemetryOff(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := child(t, []string{"NEMO_LENS_EXPORTER=console"})
	assert.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "accuracy")
	assert.Contains(t, stderr, "telemetry is off")
}

func TestProcessExitCodes(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := child(t, []string{"NEMO_LENS_ENABLED=maybe", "NEMO_LENS_EXPORTER=console"})
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "NEMO_LENS_ENABLED")
	assert.Contains(t, stderr, "maybe")

	code, _, stderr = child(t, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console"}, "-lr=1e308")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "diverged")
	assert.Contains(t, stderr, "share of the run", "the spans of a failed run are shown too")
}
