package pipeline

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/queue"
)

// inParallel has n goroutines share total calls of f.
func inParallel(n, total int, f func()) time.Duration {
	var wg sync.WaitGroup
	began := time.Now()
	for i := range n {
		share := total / n
		if i < total%n {
			share++
		}
		wg.Go(func() {
			for range share {
				f()
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// BenchmarkFlood is 8 goroutines that start and end 100,000 spans each with a
// tracer: time and loss against the SDK's processor, default queues and blocking.
// The spans that are left at the end are part of the time.
func BenchmarkFlood(b *testing.B) {
	for _, block := range []bool{false, true} {
		b.Run(fmt.Sprintf("block=%v", block), func(b *testing.B) {
			var t, sdk time.Duration
			var ended, lost, sdkLost float64
			for b.Loop() {
				p := over(discard{}, queue.Config{Block: block})
				began := time.Now()
				inParallel(8, 800_000, func() { end(p, 1) })
				_ = p.Shutdown(context.Background())
				t += time.Since(began)
				s := p.Counts()
				ended += float64(s.Given)
				lost += float64(s.Dropped + s.Failed)
				if s.Given != 800_000 || s.Exported+s.Dropped != s.Given || block && s.Dropped != 0 {
					b.Errorf("stats %+v", s)
				}
				var counted counting
				var opts []sdktrace.BatchSpanProcessorOption
				if block {
					opts = append(opts, sdktrace.WithBlocking())
				}
				theirs := sdktrace.NewBatchSpanProcessor(&counted, opts...)
				sdk += flood(theirs, theirs.Shutdown)
				sdkLost += 800_000 - float64(counted.n)
			}
			b.ReportMetric(float64(t.Nanoseconds())/ended, "ns/span")
			b.ReportMetric(float64(t)/float64(sdk), "of-sdk")
			b.ReportMetric(100*lost/ended, "%lost")
			b.ReportMetric(100*sdkLost/ended, "%sdk-lost")
		})
	}
}

func flood(p sdktrace.SpanProcessor, end func(context.Context) error) time.Duration {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	tracer := tp.Tracer("flood")
	began := time.Now()
	inParallel(8, 800_000, func() {
		_, s := tracer.Start(context.Background(), "span", trace.WithSpanKind(trace.SpanKindInternal))
		s.End()
	})
	_ = end(context.Background())
	return time.Since(began)
}

// counting counts what it is given.
type counting struct{ n int }

func (c *counting) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.n += len(spans)
	return nil
}
func (c *counting) Shutdown(context.Context) error { return nil }

type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }
