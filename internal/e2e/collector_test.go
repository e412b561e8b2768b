package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the most that anything but a build may take.
const patience = time.Minute

// bin is where the programs are built, once for all tests.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if bin, err = os.MkdirTemp("", "lens-e2e"); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: no folder for the programs:", err)
			return 1
		}
		defer func() { _ = os.RemoveAll(bin) }()
		return m.Run()
	}())
}

var (
	collectorBinary = sync.OnceValues(func() (string, error) { return build("collector") })
	programBinary   = sync.OnceValues(func() (string, error) { return build("program") })
)

// build compiles the program in a folder beside the tests.
func build(folder string) (string, error) {
	path := filepath.Join(bin, folder)
	cmd := exec.Command("go", "build", "-C", folder, "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build internal/e2e/%s, which needs the go command and, once, its modules from the network: %w\n%s", folder, err, out)
	}
	return path, nil
}

// collector is a running Collector.
type collector struct {
	grpcURL, httpURL string

	traces string // the file that it writes
	cmd    *exec.Cmd
	log    *watchedLog
	exited chan error
	once   sync.Once
}

const configuration = `
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %q}
      http: {endpoint: %q}
exporters:
  file/traces: {path: %q}
  debug: {verbosity: basic}
service:
  telemetry:
    metrics: {level: none}
  pipelines:
    traces: {receivers: [otlp], exporters: [file/traces, debug]}
    metrics: {receivers: [otlp], exporters: [debug]}
    logs: {receivers: [otlp], exporters: [debug]}
`

const ready = "Everything is ready"

// startCollector builds a Collector when that was not done yet, and starts it. It fails the test when
// either is impossible. Limits are the Collector's defaults.
func startCollector(t *testing.T) *collector {
	t.Helper()
	binary, err := collectorBinary()
	if err != nil {
		t.Fatal(err)
	}
	// Between choosing a port and listening on it, somebody else may take it.
	for attempt := 1; ; attempt++ {
		c, err := launch(t, binary)
		if err == nil {
			t.Cleanup(func() {
				c.stop(t)
				if t.Failed() {
					t.Logf("the Collector's log:\n%s", c.log)
				}
			})
			return c
		}
		if attempt == 5 || !strings.Contains(c.log.String(), "address already in use") {
			t.Fatalf("the Collector does not start: %v\n%s", err, c.log)
		}
	}
}

func launch(t *testing.T, binary string) (*collector, error) {
	t.Helper()
	dir := t.TempDir()
	grpcAddr, httpAddr := freeAddresses(t)
	c := &collector{
		grpcURL: "http://" + grpcAddr, httpURL: "http://" + httpAddr,
		traces: filepath.Join(dir, "traces.jsonl"),
		log:    &watchedLog{word: ready, seen: make(chan struct{})},
		exited: make(chan error, 1),
	}
	config := filepath.Join(dir, "collector.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, configuration, grpcAddr, httpAddr, c.traces), 0o600); err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(binary, "--config", config)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		return c, err
	}
	go func() { c.exited <- c.cmd.Wait() }()
	select {
	case <-c.log.seen:
		return c, nil
	case err := <-c.exited:
		return c, fmt.Errorf("it ended: %w", err)
	case <-time.After(patience):
		_ = c.cmd.Process.Kill()
		<-c.exited
		return c, fmt.Errorf("not ready after %v", patience)
	}
}

// stop ends the Collector in an orderly way, after which its file is complete.
func (c *collector) stop(t *testing.T) {
	t.Helper()
	c.once.Do(func() {
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop the Collector: %v", err)
		}
		select {
		case err := <-c.exited:
			if err != nil {
				t.Errorf("the Collector ended badly: %v", err)
			}
		case <-time.After(patience):
			_ = c.cmd.Process.Kill()
			<-c.exited
			t.Errorf("the Collector did not stop within %v of SIGTERM", patience)
		}
	})
}

// freeAddresses returns two loopback addresses that were free a moment ago.
func freeAddresses(t *testing.T) (string, string) {
	t.Helper()
	var addrs [2]string
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		addrs[i] = l.Addr().String()
	}
	return addrs[0], addrs[1]
}

// runProgram runs the program that uses the library with nothing in its environment but env, and returns
// its exit code and its standard error.
func runProgram(t *testing.T, env []string, args ...string) (int, string) {
	t.Helper()
	binary, err := programBinary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("run the program: %v", err)
	}
	if stdout.Len() > 0 {
		t.Errorf("the program wrote to its standard output:\n%s", &stdout)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// watchedLog keeps what is written to it and says when a word came.
type watchedLog struct {
	word string
	seen chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

func (l *watchedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if !l.done && bytes.Contains(l.text.Bytes(), []byte(l.word)) {
		l.done = true
		close(l.seen)
	}
	return len(p), nil
}

func (l *watchedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
