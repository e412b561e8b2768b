package batch

import (
	"context"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
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

// exporter records the calls and does in them what the test wants.
type exporter struct {
	do     func(ctx context.Context, n int) error // nil: takes everything
	doDown func(ctx context.Context) error

	mu      sync.Mutex
	batches []int
	downs   int
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	e.batches = append(e.batches, len(spans))
	e.mu.Unlock()
	for _, s := range spans {
		if s == nil {
			panic("nil span in a batch")
		}
	}
	if e.do != nil {
		return e.do(ctx, len(spans))
	}
	return nil
}

func (e *exporter) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.downs++
	e.mu.Unlock()
	if e.doDown != nil {
		return e.doDown(ctx)
	}
	return nil
}

func (e *exporter) calls() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]int{}, e.batches...)
}

func (e *exporter) shutdowns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.downs
}

func end(p *Processor, n int) {
	for range n {
		p.OnEnd(sampled)
	}
}

func wantStats(t *testing.T, p *Processor, want Stats) {
	t.Helper()
	if got := p.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func checkSum(t *testing.T, s Stats) {
	t.Helper()
	if s.Ended != s.Exported+s.Dropped+s.Failed+s.Queued {
		t.Errorf("does not add up: %+v", s)
	}
}

// lossError is an exporter's exact word on its loss.
type lossError int

func (lossError) Error() string    { return "partly refused" }
func (e lossError) LostSpans() int { return int(e) }

// advance lets time pass in a synctest bubble, where its clock jumps as soon as
// everything waits: for a test, or an exporter that takes so long. No test waits
// in real time, and none depends on it.
func advance(d time.Duration) { time.Sleep(d) }
