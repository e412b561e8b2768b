package batch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
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

// BenchmarkOnEnd hands over an ended span, blocking mode, an exporter that takes
// everything at once. Each round runs both processors one after the other; of-sdk
// is the ratio of the times, and wants to be 0.5 or less.
func BenchmarkOnEnd(b *testing.B) {
	for _, mode := range []struct {
		name string
		ours Config
		sdk  []sdktrace.BatchSpanProcessorOption
	}{
		{"default queues", Config{Block: true}, []sdktrace.BatchSpanProcessorOption{sdktrace.WithBlocking()}},
		{"same queue", Config{Block: true, QueueSize: 2048}, []sdktrace.BatchSpanProcessorOption{sdktrace.WithBlocking()}},
	} {
		for _, goroutines := range []int{1, 2, 8, 64} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", mode.name, goroutines), func(b *testing.B) {
				b.ReportAllocs()
				ours := New(discard{}, mode.ours)
				theirs := sdktrace.NewBatchSpanProcessor(discard{}, mode.sdk...)
				defer func() { _ = ours.Shutdown(context.Background()) }()
				defer func() { _ = theirs.Shutdown(context.Background()) }()
				var t, sdk time.Duration
				const round = 100_000
				for left := b.N; left > 0; left -= round {
					n := min(left, round)
					t += inParallel(goroutines, n, func() { ours.OnEnd(sampled) })
					b.StopTimer()
					sdk += inParallel(goroutines, n, func() { theirs.OnEnd(sampled) })
					b.StartTimer()
				}
				b.ReportMetric(float64(sdk.Nanoseconds())/float64(b.N), "sdk-ns/op")
				b.ReportMetric(float64(t)/float64(sdk), "of-sdk")
				if s := ours.Stats(); s.Dropped != 0 || s.Ended != uint64(b.N) {
					b.Errorf("lost spans in blocking mode: %+v", s)
				}
			})
		}
	}
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
				p := New(discard{}, Config{Block: block})
				t += flood(p)
				s := p.Stats()
				ended += float64(s.Ended)
				lost += float64(s.Dropped + s.Failed)
				if s.Ended != 800_000 || s.Exported+s.Dropped != s.Ended || block && s.Dropped != 0 {
					b.Errorf("stats %+v", s)
				}
				var counted counting
				var opts []sdktrace.BatchSpanProcessorOption
				if block {
					opts = append(opts, sdktrace.WithBlocking())
				}
				sdk += flood(sdktrace.NewBatchSpanProcessor(&counted, opts...))
				sdkLost += 800_000 - float64(counted.n)
			}
			b.ReportMetric(float64(t.Nanoseconds())/ended, "ns/span")
			b.ReportMetric(float64(t)/float64(sdk), "of-sdk")
			b.ReportMetric(100*lost/ended, "%lost")
			b.ReportMetric(100*sdkLost/ended, "%sdk-lost")
		})
	}
}

func flood(p sdktrace.SpanProcessor) time.Duration {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	tracer := tp.Tracer("flood")
	began := time.Now()
	inParallel(8, 800_000, func() {
		_, s := tracer.Start(context.Background(), "span", trace.WithSpanKind(trace.SpanKindInternal))
		s.End()
	})
	_ = tp.Shutdown(context.Background())
	return time.Since(began)
}

// counting counts what it is given.
type counting struct{ n int }

func (c *counting) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	c.n += len(spans)
	return nil
}
func (c *counting) Shutdown(context.Context) error { return nil }

// BenchmarkOnEndFull is a span that finds the queue full and the time to wait used
// up, as with a dead collector.
func BenchmarkOnEndFull(b *testing.B) {
	e, next := hold()
	p := New(e, Config{QueueSize: 512})
	defer func() {
		close(next)
		_ = p.Shutdown(context.Background())
	}()
	end(p, 2000)
	b.ReportAllocs()
	for b.Loop() {
		p.OnEnd(sampled)
	}
}
