package provider

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	sampled   = span("sampled", trace.FlagsSampled)
	unsampled = span("unsampled", 0)
)

func span(name string, flags trace.TraceFlags) sdktrace.ReadOnlySpan {
	return tracetest.SpanStub{Name: name, SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags,
	})}.Snapshot()
}

// over is a queue in front of exp, as a processor.
func over(exp sdktrace.SpanExporter, cfg queue.Config) spanQueue {
	cfg.What, cfg.Close = "spans", exp.Shutdown
	return spanQueue{queue.New(cfg, exp.ExportSpans)}
}

func end(p spanQueue, n int) {
	for range n {
		p.OnEnd(sampled)
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
	p := over(exportFunc(func(context.Context, []sdktrace.ReadOnlySpan) error { return nil }), queue.Config{})
	p.OnEnd(unsampled)
	p.OnEnd(sampled)
	if err := p.Queue.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := p.Stats(); got != (queue.Stats{Given: 1, Exported: 1}) {
		t.Errorf("stats %+v", got)
	}
}

// The whole of the SDK in front.
func TestBehindTracerProvider(t *testing.T) {
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
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	tracer := tp.Tracer("test")
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
	if err := tp.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Queue.Shutdown(t.Context()); err != nil {
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
	if got, want := p.Stats(), (queue.Stats{Given: 4000, Exported: 4000}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}
