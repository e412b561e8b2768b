package main

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/queue"
)

// queues measures what it costs to hand over an ended span. Both queues make the
// caller wait when they are full, so that each row hands over every span.
func queues(goroutines int) func(*run) {
	return func(r *run) {
		ctx := context.Background()
		span := tracetest.SpanStub{Name: "train.step", SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
		})}.Snapshot()
		theirs := sdktrace.NewBatchSpanProcessor(discardExporter{}, sdktrace.WithBlocking())
		ours := func(size int) subject {
			q := queue.New(queue.Config{Block: true, QueueSize: size}, func(context.Context, []sdktrace.ReadOnlySpan) error { return nil })
			return subject{
				loop: func(n int) {
					for range n {
						q.Put(span)
					}
				},
				stop: func() { must(q.Shutdown(ctx)) },
			}
		}
		usual, same := ours(0), ours(2048)
		usual.name, same.name = "lens", "lens, with a queue of 2048 as the SDK's"
		t := table{title: fmt.Sprintf("The queue alone, %d goroutines", goroutines), goroutines: goroutines, rows: []subject{
			{name: "OTel SDK batch processor", loop: func(n int) {
				for range n {
					theirs.OnEnd(span)
				}
			}, stop: func() { must(theirs.Shutdown(ctx)) }},
			usual, same,
		}}
		results := r.measure(t)
		r.compare(fmt.Sprintf("the queue alone, %d goroutines: lens / OTel SDK", goroutines), 0, results[1], results[0])
	}
}
