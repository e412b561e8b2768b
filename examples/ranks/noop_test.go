//go:build lens_noop

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTrainingWithoutTelemetry(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, []string{"NEMO_LENS_ENABLED=1"}, "-n=4")
	assert.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "4 ranks trained 120 steps")
	assert.Contains(t, stdout, "(43 of 45 held-out samples)")
	assert.Contains(t, stdout, "no spans")
}
