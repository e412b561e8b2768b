package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	if programtest.IsProgram() {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// command is the program as a process of its own, with its temporary files in tmp.
func command(t *testing.T, binary, tmp string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := programtest.Command(t, append(env, "TMPDIR="+tmp, "TMP="+tmp), args...)
	cmd.Path = binary
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
	code, stdout, stderr = programtest.Run(t, cmd)
	nothingLeft(t, tmp, stdout)
	return code, stdout, stderr
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
