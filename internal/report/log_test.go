package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a time that tests move by hand.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// lines collects what a JSON handler writes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) all(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	dec := json.NewDecoder(bytes.NewReader(l.buf.Bytes()))
	for {
		var m map[string]any
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
}

func start(t *testing.T) (*Log, *clock, *lines) {
	t.Helper()
	c, out := newClock(), &lines{}
	return NewAt(slog.New(slog.NewJSONHandler(out, nil)), c.now), c, out
}

func TestLongOutageIsAFewLines(t *testing.T) {
	t.Parallel()
	l, c, out := start(t)
	const failures = 10 * 3600 // one a second for ten hours
	for range failures {
		l.Warn("export", "lens: export failed", "endpoint", "h:4317")
		c.advance(time.Second)
	}
	l.Recovered("export", "lens: export works again", "endpoint", "h:4317")
	l.Recovered("export", "lens: export works again", "endpoint", "h:4317")
	got := out.all(t)
	if len(got) < 3 || len(got) > 8 {
		t.Fatalf("%d lines for one outage: %v", len(got), got)
	}
	seen := 0.0
	for i, m := range got[:len(got)-1] {
		if m["msg"] != "lens: export failed" || m["level"] != "WARN" || m["endpoint"] != "h:4317" {
			t.Errorf("line %d: %v", i, m)
		}
		seen++
		if n, ok := m["repeated"].(float64); ok {
			seen += n
		}
	}
	last := got[len(got)-1]
	if last["msg"] != "lens: export works again" || last["failures"] != float64(failures) || last["level"] != "INFO" {
		t.Errorf("last line: %v", last)
	}
	if last["after"] != float64(10*time.Hour) {
		t.Errorf("the outage took %v", last["after"])
	}
	if seen > failures {
		t.Errorf("the lines count %v failures of %d", seen, failures)
	}
}

func TestFlappingIsHeldBackToo(t *testing.T) {
	t.Parallel()
	l, c, out := start(t)
	for range 100 {
		l.Warn("export", "lens: export failed")
		c.advance(100 * time.Millisecond)
		l.Recovered("export", "lens: export works again")
		c.advance(100 * time.Millisecond)
	}
	if got := out.all(t); len(got) != 2 {
		t.Errorf("%d lines in 20 s, want one of each kind", len(got))
	}
	l.Flush()
	l.Flush()
	got := out.all(t)
	if len(got) != 3 || got[2]["repeated"] != float64(99) {
		t.Errorf("flush: %v", got[2:])
	}
}

func TestAQuietKindStartsOver(t *testing.T) {
	t.Parallel()
	l, c, out := start(t)
	for range 3 {
		l.Warn("k", "m")
		c.advance(firstPause + time.Second)
	}
	if got := out.all(t); len(got) != 3 {
		t.Errorf("%d lines, want 3", len(got))
	}
}

func TestKindsAreSeparateAndBounded(t *testing.T) {
	t.Parallel()
	l, _, out := start(t)
	for i := range 10 * maxKinds {
		l.Warn(fmt.Sprint("kind ", i), "m")
	}
	if got := len(out.all(t)); got != maxKinds+1 {
		t.Errorf("%d lines, want one for each of the first %d kinds and one for the rest", got, maxKinds)
	}
	if len(l.kinds) > maxKinds+1 {
		t.Errorf("%d kinds remembered", len(l.kinds))
	}
}

func TestRecoveredWithoutOutageSaysNothing(t *testing.T) {
	l, _, out := start(t)
	l.Recovered("export", "m")
	l.Warn("other", "w")
	l.Recovered("export", "m")
	if got := out.all(t); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if n := testing.AllocsPerRun(100, func() { l.Recovered("export", "m") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type panicker struct{}

func (panicker) String() string { panic("no text") }

type secretive struct{}

func (secretive) LogValue() slog.Value { return slog.StringValue("Bearer abcdef") }

func TestValuesAreScrubbed(t *testing.T) {
	t.Parallel()
	l, _, out := start(t)
	var typedNil *panicError
	l.Info("to http://u:secret@h",
		"error", errors.New("api-key=secret"), "nil", typedNil, "panics", panicker{}, "valuer", secretive{},
		slog.Group("g", "password", "secret", "n", 3), "authorization", "secret", "list", []string{"token=secret"},
		"long", strings.Repeat("x", 1<<20))
	got := out.all(t)[0]
	if raw := fmt.Sprint(got); strings.Contains(raw, "secret") || strings.Contains(raw, "abcdef") || len(raw) > 3*maxText {
		t.Errorf("not scrubbed: %.3000s", raw)
	}
	for k, want := range map[string]any{
		"msg": "to http://h", "error": "api-key=[REDACTED]", "nil": "<nil>", "valuer": "Bearer [REDACTED]",
		"authorization": "[REDACTED]",
	} {
		if got[k] != want {
			t.Errorf("%s = %q, want %q", k, got[k], want)
		}
	}
	if g := got["g"].(map[string]any); g["n"] != 3.0 || g["password"] != "[REDACTED]" {
		t.Errorf("group: %v", g)
	}
}

// reentrant is a handler whose every line makes the library log again, as one
// that starts spans does when the span queue is full.
type reentrant struct {
	slog.Handler
	again func(int)
	n     int
}

func (h *reentrant) Handle(ctx context.Context, r slog.Record) error {
	h.n++
	h.again(h.n)
	return h.Handler.Handle(ctx, r)
}

func TestHandlerThatLogsAgain(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*Log, int){
		"same kind": func(l *Log, _ int) { l.Warn("k", "again") },
		"new kinds": func(l *Log, n int) { l.Warn(fmt.Sprint(n), "again") },
		"info":      func(l *Log, _ int) { l.Info("again"); l.Info("and again") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l *Log
			h := &reentrant{Handler: slog.NewTextHandler(io.Discard, nil)}
			h.again = func(n int) {
				if n > 1000 {
					t.Error("does not end")
					runtime.Goexit()
				}
				again(l, n)
			}
			l = New(slog.New(h))
			l.Warn("k", "first")
			if h.n < 1 || h.n > 200 {
				t.Errorf("the handler was called %d times", h.n)
			}
			if len(l.queue) > 64 {
				t.Errorf("%d records queued", len(l.queue))
			}
		})
	}
}

// TestNobodyWaitsForASlowHandler has one goroutine stuck in the handler while
// others log.
func TestNobodyWaitsForASlowHandler(t *testing.T) {
	t.Parallel()
	inside, release := make(chan struct{}), make(chan struct{})
	out := &lines{}
	l := New(slog.New(&reentrant{Handler: slog.NewJSONHandler(out, nil), again: func(n int) {
		if n == 1 {
			close(inside)
			<-release
		}
	}}))
	done := make(chan struct{})
	go func() { defer close(done); l.Info("stuck") }()
	<-inside
	for range 100 {
		l.Info("queued")
	}
	close(release)
	<-done
	got := out.all(t)
	if len(got) != 1+64 {
		t.Errorf("%d lines, want the stuck one and the 64 that fit the queue", len(got))
	}
	if got[1]["messages_lost"] != float64(36) {
		t.Errorf("lost messages are not counted: %v", got[1])
	}
	l.Info("after")
	if got = out.all(t); got[len(got)-1]["msg"] != "after" {
		t.Errorf("last line: %v", got[len(got)-1])
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	l, c, out := start(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				l.Warn(fmt.Sprint("k", j%3), "m", "i", i)
				l.Recovered("k0", "r")
				l.Info("i")
				c.advance(time.Second)
				l.Flush()
			}
		})
	}
	wg.Wait()
	l.Flush()
	if l.draining || len(l.queue) > 0 {
		t.Errorf("draining %v with %d queued", l.draining, len(l.queue))
	}
	if len(out.all(t)) == 0 {
		t.Error("nothing was written")
	}
}

type badHandler struct{ how func() }

func (h badHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (h badHandler) Handle(context.Context, slog.Record) error { h.how(); return nil }
func (h badHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h badHandler) WithGroup(string) slog.Handler             { return h }

func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	calls := 0
	l := New(slog.New(badHandler{func() {
		if calls++; calls == 1 {
			runtime.Goexit()
		}
	}}))
	done := make(chan struct{})
	go func() { defer close(done); l.Info("first") }()
	<-done
	l.Info("second")
	if calls != 2 {
		t.Errorf("%d calls, want 2: the log is stuck", calls)
	}
}

func TestNilLog(t *testing.T) {
	t.Parallel()
	var l *Log
	l.Info("m")
	l.Warn("", "m")
	l.Recovered("", "m")
	l.Flush()
	l.Install()()
}

// TestDefaultWritesToStandardError runs in a process of its own, because it
// replaces the descriptors' files.
func TestDefaultWritesToStandardError(t *testing.T) {
	t.Parallel()
	stdout, stderr := inChild(t, "default")
	if stdout != "" {
		t.Errorf("standard output has %q", stdout)
	}
	for _, want := range []string{"level=WARN", `msg="lens: hello"`, "log_handler_panicked=boom"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error has no %s: %q", want, stderr)
		}
	}
}

func childDefault() {
	// The program's default logger writes to standard output.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stdout, nil)))
	New(nil).Warn("", "lens: hello")
	New(slog.New(badHandler{func() { panic("boom") }})).Info("lost otherwise")
}
