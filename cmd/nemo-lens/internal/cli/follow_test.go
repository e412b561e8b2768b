package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

// shared is a buffer that a command writes and a test reads.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not after a minute", what)
		}
	}
}

// TestFollowPrintsSpansAsTheyCome writes to a file that is followed: before it
// exists, a part of a line, the rest of it, and after the file was replaced.
func TestFollowPrintsSpansAsTheyCome(t *testing.T) {
	var file bytes.Buffer
	r := tracegen.Run{ID: "a", Ranks: 1, Steps: 2, Start: 1_700_000_000e9, Batch: 1}
	if err := r.WriteRank(&file, 0); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(file.String(), "\n")
	path := filepath.Join(t.TempDir(), "spans.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	var out, stderr shared
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"view", "--follow", "--name", "train.[sj]*", "--show", "summary", path}, streams{nil, &out, &stderr, func(string) string { return "" }})
	}()
	write := func(mode int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|mode, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	has := func(n int) func() bool {
		return func() bool { return strings.Count(out.String(), "train.step #") == n }
	}
	write(os.O_APPEND, strings.Join(lines[:3], "")+lines[3][:50])
	write(os.O_APPEND, lines[3][50:])
	waitFor(t, "the first step", has(1))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(os.O_APPEND, strings.Join(lines[4:], ""))
	waitFor(t, "the second step, in a new file", has(2))
	waitFor(t, "the job", func() bool { return strings.Contains(out.String(), "rank 0 train.job ") })
	cancel()
	if status := <-done; status != exitOK || stderr.String() != "" {
		t.Errorf("status %d, %s", status, stderr.String())
	}
	text := out.String()
	if strings.Contains(text, "train.optimizer") {
		t.Errorf("a span that was not chosen is printed:\n%s", text)
	}
	if !strings.Contains(text, "9 spans of 1 rank in 1 trace") {
		t.Errorf("there is no view at the end:\n%s", text)
	}
}

func TestFollowOfStandardInputEndsWithIt(t *testing.T) {
	var file bytes.Buffer
	r := tracegen.Run{ID: "a", Ranks: 1, Steps: 2, Start: 1_700_000_000e9, Batch: 1}
	if err := r.WriteRank(&file, 0); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := command(t, &file, "view", "--follow")
	if status != exitOK || stderr != "" || strings.Count(out, "train.step #") < 2 || !strings.Contains(out, "9 spans of 1 rank") {
		t.Errorf("status %d, %q, %s", status, stderr, out)
	}
}
