package queue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
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

// BenchmarkPut hands over an ended span, blocking mode, an exporter that takes
// everything at once. Each round runs the queue and the SDK's processor one after the other; of-sdk
// is the ratio of the times, and wants to be 0.2 or less.
func BenchmarkPut(b *testing.B) {
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
				ours := New(mode.ours, takeAll)
				theirs := sdktrace.NewBatchSpanProcessor(discardSpans{}, mode.sdk...)
				defer func() { _ = ours.Shutdown(context.Background()) }()
				defer func() { _ = theirs.Shutdown(context.Background()) }()
				var t, sdk time.Duration
				const round = 100_000
				for left := b.N; left > 0; left -= round {
					n := min(left, round)
					t += inParallel(goroutines, n, func() { ours.Put(span) })
					b.StopTimer()
					sdk += inParallel(goroutines, n, func() { theirs.OnEnd(span) })
					b.StartTimer()
				}
				b.ReportMetric(float64(sdk.Nanoseconds())/float64(b.N), "sdk-ns/op")
				b.ReportMetric(float64(t)/float64(sdk), "of-sdk")
				if s := ours.Stats(); s.Dropped != 0 || s.Given != uint64(b.N) {
					b.Errorf("lost spans in blocking mode: %+v", s)
				}
			})
		}
	}
}

// BenchmarkPutFull finds the queue full and the time to wait used up, as with a dead
// collector.
func BenchmarkPutFull(b *testing.B) {
	e, next := hold()
	p := start(e, Config{QueueSize: 512})
	defer func() {
		close(next)
		_ = p.Shutdown(context.Background())
	}()
	put(p, 2000)
	b.ReportAllocs()
	for b.Loop() {
		p.Put(one)
	}
}

func takeAll(context.Context, []sdktrace.ReadOnlySpan) error { return nil }

type discardSpans struct{}

func (discardSpans) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discardSpans) Shutdown(context.Context) error                             { return nil }

var span = tracetest.SpanStub{Name: "sampled", SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
})}.Snapshot()
