package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	if programtest.IsProgram() {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// command is the program as a process of its own, which sends no metrics.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	return programtest.Command(t, append(env, "NEMO_LENS_METRICS_ENABLED=0"), args...)
}

// program runs it to the end.
func program(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return programtest.Run(t, command(t, env, args...))
}

// server is the program as a server process.
type server struct {
	t     *testing.T
	addr  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string // of standard error
}

func startServerProcess(t *testing.T, env ...string) *server {
	t.Helper()
	s := &server{t: t, cmd: command(t, env, "serve"), lines: make(chan string, 100)}
	var err error
	s.stdin, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	stderr, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	go func() {
		defer close(s.lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			s.lines <- in.Text()
		}
	}()
	s.addr = s.line(listening)
	return s
}

// line waits for a line with this beginning and returns the rest of it.
func (s *server) line(beginning string) string {
	s.t.Helper()
	for line := range s.lines {
		if rest, ok := strings.CutPrefix(line, beginning); ok {
			return rest
		}
	}
	s.t.Fatalf("the server ended without saying %q", beginning)
	return ""
}

func (s *server) say(text string) {
	s.t.Helper()
	_, err := io.WriteString(s.stdin, text+"\n")
	require.NoError(s.t, err)
}

// stop ends the server; what it recorded has been delivered then.
func (s *server) stop() {
	s.t.Helper()
	s.say("stop")
	for line := range s.lines {
		assert.NotContains(s.t, line, "incomplete")
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		s.t.Errorf("the server exits with %v", exit)
	} else {
		require.NoError(s.t, err)
	}
}

func TestBothProcesses(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, nil)
	assert.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stdout, "telemetry is off")
	assert.Contains(t, stderr, "the server answers SERVING")
	assert.NotContains(t, stderr, "trace ")
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"both", exitUsage, `"both": want serve, check`},
		{"check", exitUsage, "-addr is missing"},
		{"check -port=1", exitUsage, "command line"},
		{"serve now", exitUsage, `unexpected argument "now"`},
		{"serve -addr=nowhere", exitFailed, "nowhere"},
		{"check -h", exitOK, "-service"},
	} {
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(test.args), strings.NewReader(""), &stderr)
		assert.Equal(t, test.code, code, test.args)
		assert.Contains(t, stderr.String(), test.want)
	}
}

// A server without an input goes on serving; one that is told to stop ends.
func TestServerWithoutCommands(t *testing.T) {
	t.Parallel()
	s := startServerProcess(t)
	s.say("dance")
	assert.Contains(t, s.line("grpc: "), `command "dance": want "groups SPEC" or "stop"`)
	for range 2 {
		code, _, stderr := program(t, nil, "check", "-addr="+s.addr)
		assert.Equal(t, exitOK, code, stderr)
	}
	s.stop()
	code, _, stderr := program(t, nil, "check", "-addr="+s.addr)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "Unavailable")
}
