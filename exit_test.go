//go:build !lens_noop && unix

package lens

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/otlptest"
)

const childVariable = "LENS_TEST_CHILD"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childVariable); kind != "" {
		child(kind)
		return
	}
	goleak.VerifyTestMain(m)
}

// child is what the processes of these tests do.
func child(kind string) {
	cfg, err := FromEnv("", "", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(90)
	}
	body := func(ctx context.Context) error {
		ctx, outer := ManagedSpan(ctx, Job, "outer")
		_, done := ManagedSpan(ctx, Job, "done")
		done.End()
		fmt.Println("ready")
		switch kind {
		case "main panics":
			func() {
				defer End(outer, nil)
				panic("out of memory on device 3")
			}()
		case "main fails":
			err := errors.New("loss is NaN")
			End(outer, &err)
			return err
		case "main returns":
			End(outer, nil)
			return nil
		case "main ignores the signal":
			select {}
		}
		<-ctx.Done()
		err := ctx.Err()
		End(outer, &err)
		return err
	}
	if strings.HasPrefix(kind, "main") {
		Main(cfg, body)
	}
	h, err := SetupTelemetry(context.Background(), cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(91)
	}
	switch kind {
	case "signal":
		ShutdownOnSignal(h)
		_ = body(context.Background())
	case "stopped":
		stop := ShutdownOnSignal(h)
		stop()
		stop()
		_ = body(context.Background())
	case "defer":
		// The pattern of the README.
		func() {
			defer func() {
				if err := h.Shutdown(context.Background()); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}()
			_, span := ManagedSpan(context.Background(), Job, "outer")
			End(span, nil)
		}()
		os.Exit(7)
	}
}

// process starts this test binary as a child that exports to url, and returns
// once it is ready.
type process struct {
	*exec.Cmd
	stderr strings.Builder
	rest   *bufio.Reader
}

func startChild(t *testing.T, kind, url string, env ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), childVariable+"="+kind, "NEMO_LENS_ENABLED=1", "OTEL_EXPORTER_OTLP_ENDPOINT="+url,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "NEMO_LENS_RUN_ID=test")
	p.Env = append(p.Env, env...)
	p.Stderr = &p.stderr
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	p.rest = bufio.NewReader(out)
	return p
}

func (p *process) ready(t *testing.T) {
	t.Helper()
	line, err := p.rest.ReadString('\n')
	if err != nil {
		_ = p.Wait() // makes what it wrote safe to read
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	require.Equal(t, "ready\n", line)
}

// status is the exit status, or minus the signal that ended the process.
func (p *process) status(t *testing.T) int {
	t.Helper()
	_, _ = io.Copy(io.Discard, p.rest)
	err := p.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
			return -int(ws.Signal())
		}
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

func TestEveryWayToEndAProcessKeepsTheSpans(t *testing.T) {
	for _, c := range []struct {
		kind      string
		signal    syscall.Signal // sent once the child is ready
		status    int
		stderr    string
		truncated bool
	}{
		{kind: "main returns", status: 0},
		{kind: "main fails", status: 1, stderr: "loss is NaN"},
		{kind: "main panics", status: 2, stderr: "out of memory on device 3"},
		{kind: "main waits", signal: syscall.SIGTERM, status: 128 + int(syscall.SIGTERM)},
		{kind: "main waits", signal: syscall.SIGINT, status: 128 + int(syscall.SIGINT)},
		{kind: "signal", signal: syscall.SIGTERM, status: -int(syscall.SIGTERM), truncated: true},
		{kind: "signal", signal: syscall.SIGINT, status: -int(syscall.SIGINT), truncated: true},
		{kind: "defer", status: 7},
	} {
		t.Run(fmt.Sprint(c.kind, " ", c.signal), func(t *testing.T) {
			receiver := otlptest.Start(t)
			p := startChild(t, c.kind, receiver.GRPCURL())
			if c.kind != "defer" {
				p.ready(t)
			}
			if c.signal != 0 {
				require.NoError(t, p.Process.Signal(c.signal))
			}
			require.Equal(t, c.status, p.status(t), p.stderr.String())
			require.Contains(t, p.stderr.String(), c.stderr)
			names := map[string]bool{}
			for _, s := range receiver.Spans() {
				names[s.Name] = true
				require.Equal(t, c.truncated && s.Name == "outer", s.Attributes["nemo.span.truncated"] == true, s.Name)
			}
			require.True(t, names["outer"], names)
		})
	}
}

func TestASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	receiver := otlptest.Start(t)
	p := startChild(t, "main ignores the signal", receiver.GRPCURL())
	p.ready(t)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	// What had ended is sent although run does not return.
	require.Len(t, receiver.WaitSpans(t, 1, 10*time.Second), 1)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, -int(syscall.SIGTERM), p.status(t))
}

func TestNoSignalHandlerOnceStopped(t *testing.T) {
	receiver := otlptest.Start(t)
	p := startChild(t, "stopped", receiver.GRPCURL())
	p.ready(t)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, -int(syscall.SIGTERM), p.status(t))
	require.Empty(t, receiver.Spans())
}

func TestASignalDoesNotWaitForADeadCollector(t *testing.T) {
	p := startChild(t, "signal", "http://"+otlptest.SilentAddr(t), "NEMO_LENS_SHUTDOWN_TIMEOUT=300ms")
	p.ready(t)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, -int(syscall.SIGTERM), p.status(t))
	require.Contains(t, p.stderr.String(), "2 spans")
}

func TestMainRefusesABadConfiguration(t *testing.T) {
	p := startChild(t, "main returns", "http://127.0.0.1:1", "NEMO_LENS_SPAN_GROUPS=per_stpe")
	require.Equal(t, 1, p.status(t))
	require.Contains(t, p.stderr.String(), `did you mean "per_step"`)
}
