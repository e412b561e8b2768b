package logpipe

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// Whatever an exporter does, it costs the records of its call and is told.
func TestBadExporters(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause, token=abc123")
	for name, c := range map[string]struct {
		exp  sdklog.Exporter
		lost uint64
		want string // in the error
	}{
		"error":     {&exporter{do: func(context.Context, []sdklog.Record) error { return cause }}, 3, "the cause, token=[REDACTED]"},
		"panic":     {&exporter{do: func(context.Context, []sdklog.Record) error { panic(cause) }}, 3, "panicked: the cause"},
		"panic nil": {&exporter{do: func(context.Context, []sdklog.Record) error { var p *int; *p = 1; return nil }}, 3, "nil pointer"},
		"goexit":    {&exporter{do: func(context.Context, []sdklog.Record) error { runtime.Goexit(); return nil }}, 3, "Goexit"},
		"partial":   {&exporter{do: func(context.Context, []sdklog.Record) error { return partial(2) }}, 2, "partly refused"},
		"typed nil": {(*exporter)(nil), 3, "panicked"},
		"nil error": {&exporter{do: func(context.Context, []sdklog.Record) error { var e *lousy; return e }}, 3, "3 of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out lines
			p := New(Settings{Exporter: c.exp, Endpoint: "http://there", Log: out.log()})
			emit(t.Context(), p, 3)
			err := p.ForceFlush(t.Context())
			var loss *outcome.LossError
			if !errors.As(err, &loss) || loss.Failed != c.lost || loss.Of != 3 || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "http://there") || strings.Contains(err.Error(), "abc123") {
				t.Errorf("error of the flush: %v", err)
			}
			if name == "error" && !errors.Is(err, cause) {
				t.Errorf("the cause is lost: %v", err)
			}
			until(t, "a warning", func() bool {
				return strings.Contains(out.String(), "log records are being lost on the way to http://there")
			})
			if strings.Contains(out.String(), "abc123") {
				t.Errorf("a secret in the log: %s", out.String())
			}
			wantStats(t, p, Stats{Stats: queue.Stats{Given: 3, Exported: 3 - c.lost, Failed: c.lost}})
			if err := p.Shutdown(t.Context()); !errors.As(err, &loss) || loss.Failed != c.lost {
				t.Errorf("error of the shutdown: %v", err)
			}
		})
	}
}

type lousy struct{ text string }

func (e *lousy) Error() string { return e.text }

// A thousand losses are a line or two, and the end of them is one.
func TestLossIsReportedOnce(t *testing.T) {
	t.Parallel()
	var out lines
	var bad = true
	exp := &exporter{}
	exp.do = func(context.Context, []sdklog.Record) error {
		exp.mu.Lock()
		defer exp.mu.Unlock()
		if bad {
			return errors.New("refused")
		}
		return nil
	}
	p := New(Settings{Exporter: exp, Log: out.log(), Batch: queue.Config{BatchSize: 1}})
	emit(t.Context(), p, 1000)
	_ = p.ForceFlush(t.Context())
	until(t, "a warning", func() bool { return strings.Contains(out.String(), "being lost") })
	exp.mu.Lock()
	bad = false
	exp.mu.Unlock()
	emit(t.Context(), p, 10)
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Errorf("the loss was reported already: %v", err)
	}
	until(t, "recovered", func() bool { return strings.Contains(out.String(), "exported again") })
	_ = p.Shutdown(t.Context())
	if n := strings.Count(out.String(), "\n"); n > 3 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}

// What is too large is halved, down to the one record that is too large alone.
func TestTooLargeIsSplit(t *testing.T) {
	t.Parallel()
	exp := &exporter{do: func(_ context.Context, r []sdklog.Record) error {
		if len(r) > 3 || slices.ContainsFunc(r, func(r sdklog.Record) bool { return r.Body().AsString() == "record 5" }) {
			return sized{}
		}
		return nil
	}}
	p := New(Settings{Exporter: exp})
	emit(t.Context(), p, 16)
	err := p.Shutdown(t.Context())
	var loss *outcome.LossError
	if !errors.As(err, &loss) || loss.Failed != 1 || loss.Of != 16 {
		t.Errorf("error %v", err)
	}
	wantStats(t, p, Stats{Stats: queue.Stats{Given: 16, Exported: 15, Failed: 1}})
	if n := len(exp.records()); n != 15 {
		t.Errorf("%d records", n)
	}
}

func TestNothingStartedWithoutExporter(t *testing.T) {
	t.Parallel()
	p := New(Settings{})
	emit(t.Context(), p, 3)
	wantStats(t, p, Stats{})
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	// No Shutdown: goleak finds whatever was started.
}

// The idiom of programs that know only the provider.
func TestProviderFlushes(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Batch: queue.Config{Delay: time.Hour}})
	emit(t.Context(), p, 2)
	if err := p.Provider.ForceFlush(t.Context()); err != nil || len(exp.records()) != 2 {
		t.Errorf("%d records, error %v", len(exp.records()), err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// Further processors are flushed and shut down once, also when the time is up.
func TestFurtherProcessors(t *testing.T) {
	t.Parallel()
	other := &counting{}
	p := New(Settings{Exporter: &exporter{do: func(ctx context.Context, _ []sdklog.Record) error { <-ctx.Done(); return ctx.Err() }},
		Processors: []sdklog.Processor{other}})
	emit(t.Context(), p, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	until(t, "shut down", func() bool { other.mu.Lock(); defer other.mu.Unlock(); return other.downs == 1 })
	other.mu.Lock()
	defer other.mu.Unlock()
	if other.emitted != 2 {
		t.Errorf("%d records", other.emitted)
	}
}

type counting struct {
	mu             sync.Mutex
	emitted, downs int
}

func (*counting) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (c *counting) OnEmit(context.Context, *sdklog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emitted++
	return nil
}
func (c *counting) Shutdown(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.downs++
	return nil
}
func (*counting) ForceFlush(context.Context) error { return nil }
