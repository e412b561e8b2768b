//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// TestMain is also the child of the tests of run: what it does is its first argument.
func TestMain(m *testing.M) {
	if role := os.Getenv("TEST_CHILD"); role != "" {
		os.Exit(child(role))
	}
	os.Exit(m.Run())
}

func child(role string) int {
	switch role {
	case "env":
		fmt.Println(os.Getenv("TRACEPARENT"), os.Getenv("OTEL_RESOURCE_ATTRIBUTES"), os.Args[1:])
		return 3
	case "signal":
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGUSR1)
		fmt.Println("ready")
		<-got
		return 42
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return 0
}

// runSelf runs this test program as a child.
func runSelf(t *testing.T, role string, out *shared, args ...string) (status int, stderr string) {
	t.Helper()
	t.Setenv("TEST_CHILD", role)
	var e bytes.Buffer
	status = run(t.Context(), append([]string{"run", "--name", "launch", "--", os.Args[0]}, args...), streams{nil, out, &e, os.Getenv})
	return status, e.String()
}

func TestRunHandsDownTheTraceAndKeepsTheStatus(t *testing.T) {
	server := otlptest.Start(t)
	t.Setenv("NEMO_LENS_ENABLED", "1")
	t.Setenv("NEMO_LENS_ENDPOINT", server.GRPCURL())
	t.Setenv("NEMO_LENS_RUN_ID", "run-7")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=blue")
	t.Setenv("TRACEPARENT", "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01")
	var out shared
	status, stderr := runSelf(t, "env", &out, "--secret", "hunter2")
	if status != 3 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	span := otlptest.One(t, server.Spans(), "launch")
	fields := strings.Fields(out.String())
	if want := "00-" + span.TraceID.String() + "-" + span.SpanID.String() + "-01"; fields[0] != want {
		t.Errorf("the child got %s, want %s", fields[0], want)
	}
	if span.TraceID.String() != "0102030405060708090a0b0c0d0e0f10" || span.ParentSpanID.String() != "0102030405060708" {
		t.Errorf("the trace that run was given is not continued: %+v", span)
	}
	if !strings.Contains(fields[1], "team=blue") || !strings.Contains(fields[1], "nemo.run.id=run-7") || !strings.Contains(out.String(), "[--secret hunter2]") {
		t.Errorf("the child got %s", out.String())
	}
	if span.Attributes["process.exit.code"] != int64(3) || span.StatusMessage != "exit status 3" || span.Attributes["process.executable.name"] != filepath.Base(os.Args[0]) {
		t.Errorf("span %+v", span)
	}
	if strings.Contains(fmt.Sprint(span), "hunter2") {
		t.Error("the arguments of the command are in the span")
	}
}

func TestRunPassesSignalsOn(t *testing.T) {
	t.Setenv("NEMO_LENS_ENABLED", "0")
	var out shared
	done := make(chan int)
	t.Setenv("TEST_CHILD", "signal")
	go func() {
		done <- run(t.Context(), []string{"run", "--", os.Args[0]}, streams{nil, &out, &bytes.Buffer{}, os.Getenv})
	}()
	waitFor(t, "the child", func() bool { return strings.Contains(out.String(), "ready") })
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if status := <-done; status != 42 {
		t.Errorf("status %d", status)
	}
}

func TestRunSaysWhatBecameOfTheCommand(t *testing.T) {
	t.Setenv("NEMO_LENS_ENABLED", "0")
	var out shared
	if status, stderr := runSelf(t, "die", &out); status != 128+int(syscall.SIGKILL) || stderr != "" {
		t.Errorf("killed: status %d, %s", status, stderr)
	}
	plain := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"run", "--", "no-such-command-at-all"}, exitNotFound}, {[]string{"run", "--", plain}, exitNoPermission},
		{[]string{"run"}, exitUsage}, {[]string{"run", "--attr", "x", "--", "true"}, exitUsage},
	} {
		status, _, stderr := command(t, nil, c.args...)
		if status != c.status || stderr == "" || strings.Contains(stderr, "goroutine") {
			t.Errorf("%v: status %d, %q", c.args, status, stderr)
		}
	}
	// A set-up that is wrong costs the telemetry, and not the command.
	t.Setenv("NEMO_LENS_ENABLED", "perhaps")
	if status, stderr := runSelf(t, "nothing", &out); status != exitOK || !strings.Contains(stderr, "the command runs without telemetry") {
		t.Errorf("status %d, %q", status, stderr)
	}
}
