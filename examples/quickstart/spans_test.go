//go:build !lens_noop

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type ids struct{ TraceID, SpanID string }

type span struct {
	Name                string
	SpanContext, Parent ids
	Status              struct{ Code string }
}

// onConsole returns the spans that the program writes, in the order of their ends.
func onConsole(t *testing.T, env ...string) (spans []span) {
	t.Helper()
	code, stdout, stderr := child(t, append(env, "NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console", "NEMO_LENS_METRICS_ENABLED=0")...)
	require.Zero(t, code, stderr)
	for line := range strings.Lines(stdout) {
		var s span
		require.NoError(t, json.Unmarshal([]byte(line), &s), "one JSON object: %s", line)
		spans = append(spans, s)
	}
	return spans
}

func TestDefaultPresetShowsTheJob(t *testing.T) {
	t.Parallel()
	spans := onConsole(t)
	require.Len(t, spans, 1)
	assert.Equal(t, "train", spans[0].Name)
	assert.Equal(t, "Unset", spans[0].Status.Code)
}

func TestStepsAreChildrenOfTheJob(t *testing.T) {
	t.Parallel()
	spans := onConsole(t, "NEMO_LENS_SPAN_GROUPS=per_step")
	require.Len(t, spans, 4)
	job := spans[3]
	assert.Equal(t, "train", job.Name)
	for _, s := range spans[:3] {
		assert.Equal(t, "train.step", s.Name)
		assert.Equal(t, job.SpanContext, s.Parent)
	}
}

func TestGroupOffRecordsNothing(t *testing.T) {
	t.Parallel()
	assert.Empty(t, onConsole(t, "NEMO_LENS_SPAN_GROUPS=checkpoint"))
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
	}
}
