//go:build lens_noop

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEvaluationWithoutTelemetry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, stdout, stderr := program(t, []string{"NEMO_LENS_ENABLED=1"}, "-keep="+dir)
	assert.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stderr)
	assert.Contains(t, stdout, accuracyOf(80, 120))
	assert.Contains(t, stdout, "no traces: telemetry is off")
}
