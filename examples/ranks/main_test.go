package main

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	if programtest.IsProgram() {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// program runs it to the end, as a process of its own.
func program(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return programtest.Run(t, programtest.Command(t, env, args...))
}

// lockedBuffer can be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}
