// Package grows has loops that keep every context they make.
package grows

import (
	"context"
	"time"

	"github.com/nemo-lens/lens"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

func work(context.Context) error { return nil }

func managedSpan(ctx context.Context) {
	var span trace.Span
	for i := 0; ; i++ {
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step", attribute.Int("i", i)) // want `ctx is from outside the loop, so each iteration makes it from that of the one before and the chain of contexts is never freed; declare it in the body: ctx, span := lens.ManagedSpan\(…\)`
		_ = work(ctx)
		lens.End(span, nil)
	}
}

func everyPrimitive(ctx context.Context, n int, remote trace.SpanContext) {
	var span trace.Span
	for range n {
		ctx, span = lens.ManagedSpanWith(ctx, lens.Step, "step") // want `declare it in the body: ctx, span := lens.ManagedSpanWith\(…\)`
		span.End()
	}
	for range n {
		ctx, span = lens.SpanCM(ctx, "step") // want `lens.SpanCM`
		span.End()
	}
	for range n {
		ctx, span = lens.LinkedSpan(ctx, "step", remote) // want `lens.LinkedSpan`
		span.End()
	}
	var tasks *lens.TaskGroup
	for range n {
		tasks, ctx = lens.NewTaskGroup(ctx, lens.Step) // want `declare it in the body: tasks, ctx := lens.NewTaskGroup`
	}
	_ = tasks
}

func tracerStart(ctx context.Context, tracer trace.Tracer, items []string) {
	for _, item := range items {
		var span trace.Span
		ctx, span = tracer.Start(ctx, item) // want `ctx, span := tracer.Start\(…\)`
		span.End()
	}
}

type ownTracer struct{}

func (ownTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	return ctx, nil
}

func ownImplementation(ctx context.Context, span trace.Span) {
	for {
		ctx, span = ownTracer{}.Start(ctx, "step") // want `ownTracer{}.Start`
		span.End()
	}
}

func timeouts(ctx context.Context) {
	var cancel context.CancelFunc
	for {
		ctx, cancel = context.WithTimeout(ctx, time.Second) // want `context.WithTimeout`
		_ = work(ctx)
		cancel()
	}
}

func values(ctx context.Context, batches []int) {
	for _, batch := range batches {
		ctx = context.WithValue(ctx, "batch", batch) // want `ctx := context.WithValue`
		_ = work(ctx)
	}
	for {
		ctx = lens.WithSpanAttributes(ctx, attribute.Int("i", 1)) // want `lens.WithSpanAttributes`
	}
}

func valuesOfAStream(ctx context.Context, in chan string) {
	for id := range in {
		ctx = context.WithValue(ctx, "id", id) // want `context.WithValue`
	}
}

func overAnotherVariable(ctx context.Context) {
	for {
		child, span := lens.ManagedSpan(ctx, lens.Step, "step")
		_ = work(child)
		span.End()
		ctx = child // want `ctx is from outside the loop.*use a variable that is declared in the loop's body`
	}
}

func nestedCalls(ctx context.Context, span trace.Span) {
	for {
		ctx, span = lens.ManagedSpan(context.WithoutCancel(ctx), lens.Step, "step") // want `lens.ManagedSpan`
		span.End()
	}
}

func sometimes(ctx context.Context, items []int) {
	var span trace.Span
	for _, item := range items {
		if item > 0 {
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // want `lens.ManagedSpan`
			span.End()
		}
	}
}

func restoredOnOneWayOnly(ctx context.Context, items []int) {
	for _, item := range items {
		saved := ctx
		var span trace.Span
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // want `lens.ManagedSpan`
		span.End()
		if item > 0 {
			continue
		}
		ctx = saved
	}
}

func inAFunctionLiteral(ctx context.Context) {
	for {
		func() {
			var span trace.Span
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // want `lens.ManagedSpan`
			defer span.End()
		}()
	}
}

func loopInAFunctionLiteral(ctx context.Context) {
	go func() {
		for {
			var span trace.Span
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // want `lens.ManagedSpan`
			span.End()
		}
	}()
}

func ofTheLoopsOwnClause(ctx context.Context) {
	for ctx, i := ctx, 0; i < 1000; i++ { // the value goes from one iteration to the next
		var span trace.Span
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // want `lens.ManagedSpan`
		span.End()
	}
}

func innerLoop(ctx context.Context) {
	for range 10 {
		ctx, epoch := lens.ManagedSpan(ctx, lens.Job, "epoch")
		for range 10 {
			var span trace.Span
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // want `lens.ManagedSpan`
			span.End()
		}
		epoch.End()
	}
}

func outerLoop(ctx context.Context) {
	for range 10 {
		var epoch trace.Span
		ctx, epoch = lens.ManagedSpan(ctx, lens.Job, "epoch") // want `ctx, epoch := lens.ManagedSpan`
		for range 10 {
			_, span := lens.ManagedSpan(ctx, lens.Step, "step")
			span.End()
		}
		epoch.End()
	}
}

func withGoto(ctx context.Context, span trace.Span) {
again:
	ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // want `lens.ManagedSpan`
	span.End()
	if work(ctx) == nil {
		goto again
	}
}

type trainer struct{ ctx context.Context }

func (t *trainer) field() {
	for {
		var span trace.Span
		t.ctx, span = lens.ManagedSpan(t.ctx, lens.Step, "step") // want `t.ctx is from outside the loop.*declare it in the body: ctx, span := lens.ManagedSpan`
		span.End()
	}
}

func twoInARow(ctx context.Context, span, inner trace.Span) {
	for {
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")    // want `ctx, span := lens.ManagedSpan`
		ctx, inner = lens.ManagedSpan(ctx, lens.Step, "inside") // want `ctx, inner := lens.ManagedSpan`
		inner.End()
		span.End()
	}
}

func receiving(ctx context.Context, in chan int) {
	var span trace.Span
	for {
		select {
		case <-in:
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "message") // want `lens.ManagedSpan`
			span.End()
		case <-ctx.Done():
			return
		}
	}
}
