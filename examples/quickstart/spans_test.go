//go:build !lens_noop

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConsoleShowsBothSpans(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := child(t, "NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console", "NEMO_LENS_METRICS_ENABLED=0")
	assert.Zero(t, code, stderr)
	assert.Contains(t, stderr, results)

	type span struct {
		Name   string
		Status struct{ Code, Description string }
		Events []struct{ Name string }
	}
	var spans []span
	for line := range strings.Lines(stdout) {
		var s span
		require.NoError(t, json.Unmarshal([]byte(line), &s), "one JSON object: %s", line)
		assert.Equal(t, "quickstart.square_root", s.Name)
		spans = append(spans, s)
	}
	require.Len(t, spans, 2)
	assert.Equal(t, "Unset", spans[0].Status.Code)
	assert.Empty(t, spans[0].Events)
	assert.Equal(t, "Error", spans[1].Status.Code)
	assert.Equal(t, "x=-1: want a number of at least 0", spans[1].Status.Description)
	require.Len(t, spans[1].Events, 1)
	assert.Equal(t, "exception", spans[1].Events[0].Name)
}

func TestGroupOffRecordsNothing(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := child(t, "NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console", "NEMO_LENS_METRICS_ENABLED=0",
		"NEMO_LENS_SPAN_GROUPS=checkpoint")
	assert.Zero(t, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, results)
}

func TestWrongEnvironmentIsExitCode2(t *testing.T) {
	t.Parallel()
	for variable, value := range map[string]string{
		"NEMO_LENS_ENABLED": "maybe", "NEMO_LENS_SPAN_GROUPS": "jobb", "NEMO_LENS_EXPORTER": "pigeon",
	} {
		code, stdout, stderr := child(t, "NEMO_LENS_ENABLED=1", variable+"="+value)
		assert.Equal(t, 2, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, value)
		assert.NotContains(t, stderr, "squareRoot")
	}
}
