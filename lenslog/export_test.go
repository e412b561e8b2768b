package lenslog

import (
	"context"
	"errors"
	stdlog "log"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/noop"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/queue"
)

// memory is an exporter that keeps records, and logs while it does if told to.
type memory struct {
	meanwhile func(ctx context.Context)

	mu      sync.Mutex
	records []sdklog.Record
}

func (m *memory) Export(ctx context.Context, records []sdklog.Record) error {
	m.mu.Lock()
	for i := range records {
		m.records = append(m.records, records[i].Clone())
	}
	m.mu.Unlock()
	if m.meanwhile != nil {
		m.meanwhile(ctx)
	}
	return nil
}
func (*memory) Shutdown(context.Context) error   { return nil }
func (*memory) ForceFlush(context.Context) error { return nil }

func (m *memory) bodies() (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.records {
		out = append(out, m.records[i].Body().AsString())
	}
	return out
}

// inMemory returns a provider that exports each record at once.
func inMemory() (*memory, *sdklog.LoggerProvider) {
	m := &memory{}
	return m, sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(m)))
}

func wantBodies(t *testing.T, m *memory, want ...string) {
	t.Helper()
	if got := m.bodies(); !slices.Equal(got, want) {
		t.Errorf("records %q, want %q", got, want)
	}
}

func TestExportedRecord(t *testing.T) {
	t.Parallel()
	m, p := inMemory()
	l := slog.New(NewExportHandler(p, WithScope("trainer"), WithSource()))
	l.With("a", 1).WithGroup("g").WarnContext(spanCtx, "odd", "b", 2.5, "d", time.Second)
	r := m.records[0]
	attrs := map[string]attribute.Value{}
	r.WalkAttributes(func(kv attribute.KeyValue) bool { attrs[string(kv.Key)] = kv.Value; return true })
	if r.Body().AsString() != "odd" || r.Severity() != log.SeverityWarn || r.SeverityText() != "WARN" ||
		r.TraceID() != spanContext.TraceID() || r.SpanID() != spanContext.SpanID() || r.TraceFlags() != spanContext.TraceFlags() ||
		r.InstrumentationScope().Name != "trainer" || r.Timestamp().IsZero() {
		t.Errorf("record %+v", r)
	}
	g := attrs["g"].AsMap()
	if attrs["a"].AsInt64() != 1 || len(g) != 2 || g[0].Value.AsFloat64() != 2.5 || attrs["code.line.number"].AsInt64() == 0 {
		t.Errorf("attributes %v", slices.Sorted(maps.Keys(attrs)))
	}
	slog.New(NewExportHandler(p)).Info("plain")
	if got := m.records[1].InstrumentationScope().Name; got != DefaultScope {
		t.Errorf("scope %q", got)
	}
}

func TestLevel(t *testing.T) {
	t.Parallel()
	m, p := inMemory()
	slog.New(NewExportHandler(p)).Debug("no")
	slog.New(NewExportHandler(p, WithLevel(nil))).Debug("no")
	var level slog.LevelVar
	l := slog.New(NewExportHandler(p, WithLevel(&level), nil))
	l.Debug("no")
	level.Set(slog.LevelDebug)
	l.With("a", 1).WithGroup("g").Debug("yes")
	level.Set(slog.LevelError)
	l.Warn("no")
	wantBodies(t, m, "yes")
}

// Nothing is enabled without a real provider, and with a nil one the global is asked.
func TestProviderThatDoesNothing(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]log.LoggerProvider{
		"noop": noop.NewLoggerProvider(), "no processor": sdklog.NewLoggerProvider(), "global, not set": nil,
	} {
		if NewExportHandler(p).Enabled(t.Context(), slog.LevelError) {
			t.Errorf("%s: enabled", name)
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	const here = "github.com/nemo-lens/lens/lenslog"
	for _, c := range []struct {
		allow []string
		want  bool
	}{
		{nil, true},
		{[]string{here}, true},
		{[]string{"example.com/other", "github.com/nemo-lens"}, true},
		{[]string{"github.com/nemo-len"}, false},
		{[]string{here + "/sub"}, false},
		{[]string{"example.com/other"}, false},
	} {
		m, p := inMemory()
		l := slog.New(NewExportHandler(p, WithScopes(c.allow...)))
		l.With("a", 1).Info("here")
		stdlog.New(bridge{l.Handler()}, "", 0).Print("without a source")
		if got := slices.Contains(m.bodies(), "here"); got != c.want {
			t.Errorf("%v: %v", c.allow, m.bodies())
		}
		if got := slices.Contains(m.bodies(), "without a source"); got != (c.allow == nil) {
			t.Errorf("%v: %v", c.allow, m.bodies())
		}
	}
}

// bridge makes a record without a source of each line.
type bridge struct{ h slog.Handler }

func (b bridge) Write(p []byte) (int, error) {
	return len(p), b.h.Handle(context.Background(), slog.NewRecord(time.Now(), slog.LevelInfo, string(p[:len(p)-1]), 0))
}

// An exporter that logs through the handler that it exports for, without a queue
// in between, with its context and without.
func TestExporterThatLogs(t *testing.T) {
	t.Parallel()
	m, p := inMemory()
	l := slog.New(slog.NewMultiHandler(NewExportHandler(p)))
	m.meanwhile = func(ctx context.Context) {
		l.InfoContext(ctx, "exporting")
		l.Info("exporting")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l.Info("real")
			}
		})
	}
	wg.Wait()
	got := m.bodies()
	if len(got) != 400 || slices.Contains(got, "exporting") {
		t.Errorf("%d records", len(got))
	}
}

// The same with the pipeline's queue, which knows the exporter's context and goroutine.
func TestExporterThatLogsBehindAQueue(t *testing.T) {
	t.Parallel()
	m := &memory{}
	p := logpipe.New(logpipe.Settings{Exporter: m, Batch: queue.Config{BatchSize: 1, Block: true}})
	l := slog.New(NewExportHandler(p.Provider))
	m.meanwhile = func(ctx context.Context) {
		l.InfoContext(ctx, "exporting")
		l.Info("exporting")
		if l.Enabled(ctx, slog.LevelError) {
			t.Error("enabled in the exporter's context")
		}
	}
	for range 100 {
		l.Info("real")
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := m.bodies(); len(got) != 100 || slices.Contains(got, "exporting") {
		t.Errorf("%d records", len(got))
	}
	if s := p.Stats(); s.Given != 100 || s.Exported != 100 || s.Suppressed != 100 {
		t.Errorf("stats %+v", s)
	}
}

func TestMarkedContextIsNotExported(t *testing.T) {
	t.Parallel()
	m, p := inMemory()
	h := NewExportHandler(p)
	ctx := reentry.Mark(t.Context())
	if h.Enabled(ctx, slog.LevelError) {
		t.Error("enabled")
	}
	if err := h.Handle(ctx, slog.NewRecord(time.Now(), slog.LevelError, "no", 0)); err != nil {
		t.Error(err)
	}
	wantBodies(t, m)
}

// What OpenTelemetry logs about itself, in a program that has given it its logger.
func TestPlumbingIsNotExported(t *testing.T) {
	t.Parallel()
	m, p := inMemory()
	h := NewExportHandler(p)
	for range 2 { // looked up, and known
		for name, f := range map[string]any{"otel": otel.Handle, "sdk": sdklog.NewBatchProcessor, "mine": TestPlumbingIsNotExported} {
			pc := reflect.ValueOf(f).Pointer() + 1
			if err := h.Handle(t.Context(), slog.NewRecord(time.Now(), slog.LevelError, name, pc)); err != nil {
				t.Error(err)
			}
		}
	}
	wantBodies(t, m, "mine", "mine")
}

func TestTee(t *testing.T) {
	t.Parallel()
	m, p := inMemory()
	other, q := inMemory()
	user := &keeping{}
	h := Tee(user, p)
	for name, twice := range map[string]slog.Handler{
		"directly": Tee(h, p), "through the handler for ids": Tee(NewHandler(h), p), "with attributes": Tee(h.WithAttrs([]slog.Attr{slog.Int("a", 1)}), p),
		"in a group": Tee(h.WithGroup("g"), p), "after another": Tee(Tee(h, q), p),
	} {
		m.records, other.records, user.got = nil, nil, nil
		slog.New(twice).InfoContext(spanCtx, name)
		wantBodies(t, m, name)
		if len(user.got) != 1 || user.got[0] != name {
			t.Errorf("%s: the program's handler has %q", name, user.got)
		}
		if name == "after another" {
			wantBodies(t, other, name)
		}
	}
	// Each at its own level, and the errors of both.
	m.records, user.got = nil, nil
	user.level, user.err = slog.LevelError, errors.New("disk full")
	l := slog.New(Tee(user, p, WithLevel(slog.LevelDebug)))
	l.Debug("only exported")
	wantBodies(t, m, "only exported")
	if err := l.Handler().Handle(t.Context(), slog.NewRecord(time.Now(), slog.LevelError, "both", 0)); !errors.Is(err, user.err) {
		t.Errorf("error %v", err)
	}
	wantBodies(t, m, "only exported", "both")
	if len(user.got) != 1 {
		t.Errorf("the program's handler has %q", user.got)
	}
}

// keeping is a program's handler.
type keeping struct {
	level slog.Level
	err   error
	got   []string
}

func (k *keeping) Enabled(_ context.Context, l slog.Level) bool { return l >= k.level }
func (k *keeping) Handle(_ context.Context, r slog.Record) error {
	k.got = append(k.got, r.Message)
	return k.err
}
func (k *keeping) WithAttrs([]slog.Attr) slog.Handler { return k }
func (k *keeping) WithGroup(string) slog.Handler      { return k }

func TestPackageOf(t *testing.T) {
	t.Parallel()
	if got := packageOf(0); got != "" {
		t.Errorf("%q", got)
	}
	if got := packageOf(1); got != "" {
		t.Errorf("%q", got)
	}
}
