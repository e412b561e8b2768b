package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nemo-lens/lens/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	if programtest.IsProgram() {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs the program as a process of its own.
func child(t *testing.T, env ...string) (code int, stdout, stderr string) {
	t.Helper()
	return programtest.Run(t, programtest.Command(t, env))
}

func TestRunsWithTelemetryOff(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := child(t)
	assert.Zero(t, code)
	assert.Empty(t, stdout)
	assert.Empty(t, stderr)
}
