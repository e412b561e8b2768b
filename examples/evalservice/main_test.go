package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// beMain makes the test binary the program itself, in the processes that it
// starts, too.
const beMain = "EVALSERVICE_TEST_BE_MAIN"

// endAtOnce is for the race detector, which waits a second at every exit.
const endAtOnce = "GORACE=atexit_sleep_ms=0"

// within is far more than anything here takes; reaching it is a failure.
const within = 5 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// command is the program as a process of its own, with the telemetry variables
// given and no others, and with its temporary files in tmp.
func command(t *testing.T, binary, tmp string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "NEMO_") && !strings.HasPrefix(name, "OTEL_") && name != "SLURM_JOB_ID" {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(append(cmd.Env, env...), beMain+"=1", endAtOnce, "TMPDIR="+tmp, "TMP="+tmp)
	return cmd
}

// program runs it to the end, and sees to it that nothing is left of it.
func program(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return programAt(t, self(t), env, args...)
}

// self is the test binary, which has the race detector when the tests have it.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

func programAt(t *testing.T, binary string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	tmp := t.TempDir()
	cmd := command(t, binary, tmp, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	nothingLeft(t, tmp, out.String())
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// servers are the lines about the servers that are ready.
var servers = regexp.MustCompile(`(?m)^(\w+) +pid (\d+) +(http://\S+)$`)

// nothingLeft checks that no temporary file and no server remains.
func nothingLeft(t *testing.T, tmp, stdout string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, left)
	for _, m := range servers.FindAllStringSubmatch(stdout, -1) {
		assert.False(t, alive(t, m[2]), "%s still runs", m[1])
	}
}

// accuracyOf is how the program states n rollouts with this many right.
func accuracyOf(right, n int) string {
	return fmt.Sprintf("accuracy: %.4f (%d of %d rollouts; ", float64(right)/float64(n), right, n)
}

func TestWrongCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-rollouts=0"}, "-rollouts=0: want 1 to"},
		{[]string{"-concurrency=-1", "-rollouts=0"}, "-concurrency=-1: want 1 to"},
		{[]string{"-groups=rollouts"}, `did you mean "rollout"?`},
		{[]string{"more"}, `unexpected argument "more"`},
		{[]string{"-none"}, "-none"},
		{[]string{asServer, "-name=judge"}, `-name="judge": want a server of run.json`},
		{[]string{asServer, "-name=countdown_agent"}, `-peer for "policy_model" is missing`},
		{[]string{asServer, "-peer=x"}, "want name=URL"},
	} {
		code, stdout, stderr := program(t, nil, c.args...)
		assert.Equal(t, exitUsage, code, c.args)
		assert.NotContains(t, stdout, "pid", c.args)
		assert.Contains(t, stderr, c.want, c.args)
	}
	code, _, stderr := program(t, nil, "-h")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stderr, "-concurrency")
}
