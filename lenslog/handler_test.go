package lenslog

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("LENSLOG_TEST_DEFAULT") != "" {
		slog.SetDefault(slog.New(NewHandler(slog.Default().Handler(), WithRank(3))))
		slog.InfoContext(spanCtx, "hello")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var (
	spanContext = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xab, 15: 1}, SpanID: trace.SpanID{0xcd, 7: 2}, TraceFlags: trace.FlagsSampled})
	spanCtx = trace.ContextWithSpanContext(context.Background(), spanContext)
)

const (
	wantTrace = "ab000000000000000000000000000001"
	wantSpan  = "cd00000000000002"
)

// logged returns what a JSON handler under h wrote for what f logs, without the time.
func logged(t *testing.T, wrap func(slog.Handler) slog.Handler, f func(l *slog.Logger)) (fields map[string]any, line string) {
	t.Helper()
	var buf bytes.Buffer
	f(slog.New(wrap(slog.NewJSONHandler(&buf, nil))))
	if err := json.Unmarshal(buf.Bytes(), &fields); err != nil {
		t.Fatalf("%v: %q", err, buf.String())
	}
	delete(fields, "time")
	return fields, buf.String()
}

func TestHandler(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	ids := func(more m) m {
		out := m{"level": "INFO", "msg": "hi", "trace_id": wantTrace, "span_id": wantSpan}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	once := func(opts ...Option) func(slog.Handler) slog.Handler {
		return func(h slog.Handler) slog.Handler { return NewHandler(h, opts...) }
	}
	info := func(l *slog.Logger) { l.InfoContext(spanCtx, "hi", "a", 1) }
	for name, c := range map[string]struct {
		wrap func(slog.Handler) slog.Handler
		log  func(l *slog.Logger)
		want m
	}{
		"no span":          {once(), func(l *slog.Logger) { l.Info("hi", "a", 1) }, m{"level": "INFO", "msg": "hi", "a": 1.}},
		"no span, rank":    {once(WithRank(0)), func(l *slog.Logger) { l.Info("hi") }, m{"level": "INFO", "msg": "hi", "rank": 0.}},
		"no span, grouped": {once(), func(l *slog.Logger) { l.WithGroup("g").With("b", 2).Info("hi", "a", 1) }, m{"level": "INFO", "msg": "hi", "g": m{"a": 1., "b": 2.}}},
		"span":             {once(), info, ids(m{"a": 1.})},
		"flags":            {once(WithTraceFlags()), info, ids(m{"a": 1., "trace_flags": "01"})},
		"rank":             {once(WithRank(5)), info, ids(m{"a": 1., "rank": 5.})},
		"nil option":       {once(nil), info, ids(m{"a": 1.})},
		"many attributes": {once(), func(l *slog.Logger) {
			l.InfoContext(spanCtx, "hi", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6, "g", 7)
		}, ids(m{"a": 1., "b": 2., "c": 3., "d": 4., "e": 5., "f": 6., "g": 7.})},
		"with": {once(), func(l *slog.Logger) { l.With("b", 2).InfoContext(spanCtx, "hi", "a", 1) }, ids(m{"a": 1., "b": 2.})},
		"group": {once(WithRank(1)), func(l *slog.Logger) { l.WithGroup("g").InfoContext(spanCtx, "hi", "a", 1) },
			ids(m{"rank": 1., "g": m{"a": 1.}})},
		"groups and attributes": {once(), func(l *slog.Logger) {
			l.With("x", 0).WithGroup("g").With("b", 2).WithGroup("h").With("c", 3).With("d", 4).InfoContext(spanCtx, "hi", "a", 1)
		}, ids(m{"x": 0., "g": m{"b": 2., "h": m{"a": 1., "c": 3., "d": 4.}}})},
		"empty groups":     {once(), func(l *slog.Logger) { l.WithGroup("g").WithGroup("h").InfoContext(spanCtx, "hi") }, ids(nil)},
		"empty inner":      {once(), func(l *slog.Logger) { l.WithGroup("g").With("b", 2).WithGroup("h").InfoContext(spanCtx, "hi") }, ids(m{"g": m{"b": 2.}})},
		"group no name":    {once(), func(l *slog.Logger) { slog.New(l.Handler().WithGroup("")).InfoContext(spanCtx, "hi") }, ids(nil)},
		"own id":           {once(), func(l *slog.Logger) { l.InfoContext(spanCtx, "hi", "trace_id", "mine") }, m{"level": "INFO", "msg": "hi", "trace_id": "mine"}},
		"own id of logger": {once(), func(l *slog.Logger) { l.With("trace_id", "mine").InfoContext(spanCtx, "hi") }, m{"level": "INFO", "msg": "hi", "trace_id": "mine"}},
		"own id in group":  {once(), func(l *slog.Logger) { l.WithGroup("g").InfoContext(spanCtx, "hi", "trace_id", "x") }, ids(m{"g": m{"trace_id": "x"}})},
		"twice": {func(h slog.Handler) slog.Handler {
			return NewHandler(NewHandler(h, WithRank(1)), WithRank(1), WithTraceFlags())
		},
			info, ids(m{"a": 1., "rank": 1., "trace_flags": "01"})},
		"twice, around a group": {func(h slog.Handler) slog.Handler {
			return NewHandler(NewHandler(h).WithGroup("g").WithAttrs([]slog.Attr{slog.Int("b", 2)}), WithRank(1))
		}, info, ids(m{"rank": 1., "g": m{"a": 1., "b": 2.}})},
		"twice, hidden": {func(h slog.Handler) slog.Handler { return NewHandler(hiding{NewHandler(h, WithRank(1))}, WithRank(1)) },
			info, ids(m{"a": 1., "rank": 1.})},
		"twice, hidden, group": {func(h slog.Handler) slog.Handler {
			return NewHandler(slog.NewMultiHandler(NewHandler(h, WithRank(1))), WithRank(1))
		},
			func(l *slog.Logger) { l.WithGroup("g").InfoContext(spanCtx, "hi", "a", 1) }, ids(m{"rank": 1., "g": m{"a": 1.}})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, line := logged(t, c.wrap, c.log)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %s, want %v", line, c.want)
			}
			// A JSON object hides that a key comes twice.
			for _, key := range []string{`"trace_id":`, `"span_id":`, `"rank":`, `"trace_flags":`} {
				if n := strings.Count(line, key); n > 1 && name != "own id in group" {
					t.Errorf("%s %d times in %s", key, n, line)
				}
			}
		})
	}
}

// hiding is somebody else's handler around ours.
type hiding struct{ slog.Handler }

func (h hiding) WithAttrs(a []slog.Attr) slog.Handler { return hiding{h.Handler.WithAttrs(a)} }
func (h hiding) WithGroup(g string) slog.Handler      { return hiding{h.Handler.WithGroup(g)} }

// Loggers that come from one another do not write into each other's attributes.
func TestDerivedLoggersAreIndependent(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	base := slog.New(NewHandler(slog.NewTextHandler(&buf, nil))).WithGroup("g")
	for range 5 { // so that there is room behind the attributes
		base = base.With("a", 1)
	}
	one, two := base.With("b", 1), base.With("c", 2)
	one.InfoContext(spanCtx, "one")
	two.InfoContext(spanCtx, "two")
	base.InfoContext(spanCtx, "base")
	got := buf.String()
	as := strings.Repeat(" g.a=1", 5)
	for _, want := range []string{"msg=one" + as + " g.b=1 trace_id=", "msg=two" + as + " g.c=2 trace_id=", "msg=base" + as + " trace_id="} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	// Nor do their records, which are made at the same time.
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 200 {
				base.InfoContext(spanCtx, "many", "i", i, "again", i)
			}
		})
	}
	wg.Wait()
	for line := range strings.Lines(buf.String()) {
		_, i, _ := strings.Cut(line, " g.i=")
		if strings.Contains(line, "msg=many") && i[:1] != i[len("0 g.again="):][:1] {
			t.Fatalf("mixed: %s", line)
		}
	}
}

// The standard library's own test of handlers, with a span in every context and with none.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(slog.Handler) slog.Handler{
		"with span":    func(h slog.Handler) slog.Handler { return spanning{NewHandler(h, WithRank(1), WithTraceFlags())} },
		"without span": func(h slog.Handler) slog.Handler { return NewHandler(h) },
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			slogtest.Run(t, func(*testing.T) slog.Handler {
				buf.Reset()
				return wrap(slog.NewJSONHandler(&buf, nil))
			}, func(t *testing.T) map[string]any {
				var m map[string]any
				if err := json.Unmarshal(buf.Bytes(), &m); err != nil {
					t.Fatal(err)
				}
				return m
			})
		})
	}
}

// spanning puts a span into every context.
type spanning struct{ slog.Handler }

func (h spanning) Handle(_ context.Context, r slog.Record) error { return h.Handler.Handle(spanCtx, r) }
func (h spanning) WithAttrs(a []slog.Attr) slog.Handler          { return spanning{h.Handler.WithAttrs(a)} }
func (h spanning) WithGroup(g string) slog.Handler               { return spanning{h.Handler.WithGroup(g)} }

// The record belongs to the caller, who may give it to others too.
func TestRecordIsNotChanged(t *testing.T) {
	t.Parallel()
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "hi", 0)
	for i := range 10 { // so that there is room behind them
		r.AddAttrs(slog.Int(string(rune('a'+i)), i))
	}
	before := attrsOf(r)
	var buf bytes.Buffer
	for range 2 {
		if err := NewHandler(slog.NewTextHandler(&buf, nil)).Handle(spanCtx, r); err != nil {
			t.Fatal(err)
		}
	}
	r.AddAttrs(slog.Int("z", 1))
	if got := attrsOf(r); !slices.EqualFunc(got[:10], before, slog.Attr.Equal) || len(got) != 11 {
		t.Errorf("attributes %v", got)
	}
	if strings.Contains(buf.String(), "BUG") { // slog's word for a shared record that was written to
		t.Errorf("%s", buf.String())
	}
}

func attrsOf(r slog.Record) (out []slog.Attr) {
	r.Attrs(func(a slog.Attr) bool { out = append(out, a); return true })
	return out
}

func TestNoSpanNoAllocation(t *testing.T) {
	ctx := context.Background()
	for name, with := range map[string]func(slog.Handler) slog.Handler{
		"plain":   func(h slog.Handler) slog.Handler { return h },
		"grouped": func(h slog.Handler) slog.Handler { return h.WithGroup("g").WithAttrs([]slog.Attr{slog.Int("b", 2)}) },
	} {
		// Not a handler with pooled buffers, which the race detector empties at random.
		bare := slog.New(with(null{}))
		ours := slog.New(with(NewHandler(null{})))
		count := func(l *slog.Logger) float64 {
			return testing.AllocsPerRun(200, func() { l.LogAttrs(ctx, slog.LevelInfo, "hi", slog.Int("a", 1)) })
		}
		if b, o := count(bare), count(ours); o > b {
			t.Errorf("%s: %v allocations, %v without us", name, o, b)
		}
	}
}

type null struct{}

func (null) Enabled(context.Context, slog.Level) bool  { return true }
func (null) Handle(context.Context, slog.Record) error { return nil }
func (null) WithAttrs([]slog.Attr) slog.Handler        { return null{} }
func (null) WithGroup(string) slog.Handler             { return null{} }

// The most natural line of all must not wait for itself, as it does with a bare wrapper
// around slog's default handler.
func TestAroundTheDefault(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "LENSLOG_TEST_DEFAULT=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "msg=hello rank=3 trace_id="+wantTrace) {
		t.Errorf("error %v, output %q", err, out)
	}
}
