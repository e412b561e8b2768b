package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// over is the way of spans to exp.
func over(exp sdktrace.SpanExporter, cfg queue.Config) *Traces {
	return NewTraces(TraceSettings{Exporter: Views(exp), Batch: cfg, Limits: sdktrace.NewSpanLimits(),
		Sampler: sdktrace.AlwaysSample(), Log: report.New(slog.New(slog.DiscardHandler))})
}

// end starts and ends n spans.
func end(t *Traces, n int) {
	for range n {
		_, span := t.Own(Scope).Start(context.Background(), "span")
		span.End()
	}
}

func checkSum(t *testing.T, s queue.Stats) {
	t.Helper()
	if s.Given != s.Exported+s.Dropped+s.Failed+s.Queued {
		t.Errorf("does not add up: %+v", s)
	}
}

type exportFunc func(context.Context, []sdktrace.ReadOnlySpan) error

func (f exportFunc) ExportSpans(ctx context.Context, s []sdktrace.ReadOnlySpan) error {
	return f(ctx, s)
}
func (exportFunc) Shutdown(context.Context) error { return nil }

// Spans that are not sampled are not exported and not counted.
func TestUnsampledSpansAreIgnored(t *testing.T) {
	t.Parallel()
	p := NewTraces(TraceSettings{Exporter: Views(exportFunc(func(context.Context, []sdktrace.ReadOnlySpan) error { return nil })),
		Sampler: sdktrace.ParentBased(sdktrace.NeverSample()), Limits: sdktrace.NewSpanLimits(), Log: report.New(slog.New(slog.DiscardHandler))})
	end(p, 1)
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled})
	_, span := p.Own(Scope).Start(trace.ContextWithRemoteSpanContext(context.Background(), parent), "sampled")
	span.End()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := p.Counts(); got != (queue.Stats{Given: 1, Exported: 1}) {
		t.Errorf("stats %+v", got)
	}
}

func TestEverySpanArrivesOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	names := map[string]int{}
	e := exportFunc(func(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range spans {
			names[s.Name()]++
		}
		return nil
	})
	p := over(e, queue.Config{Block: true})
	tracer := p.Tracer("test")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				_, s := tracer.Start(context.Background(), fmt.Sprint(i, " ", j))
				s.SetAttributes(attribute.Int("j", j))
				s.End()
			}
		})
	}
	wg.Wait()
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if len(names) != 4000 {
		t.Errorf("%d different spans arrived, want 4000", len(names))
	}
	for n, times := range names {
		if times != 1 {
			t.Errorf("span %s arrived %d times", n, times)
		}
	}
	if got, want := p.Counts(), (queue.Stats{Given: 4000, Exported: 4000}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}
