// Package stays has loops that nothing is wrong with.
package stays

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"

	"github.com/nemo-lens/lens"
	"go.opentelemetry.io/otel/trace"
)

func work(context.Context) error { return nil }

func declaredInTheBody(ctx context.Context) {
	for {
		ctx, span := lens.ManagedSpan(ctx, lens.Step, "step")
		_ = work(ctx)
		lens.End(span, nil)
	}
}

func declaredInTheBodyFirst(parent context.Context) {
	for {
		ctx := parent
		var span trace.Span
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "inside")
		_ = work(ctx)
		span.End()
	}
}

func zeroInTheBody(parent context.Context) {
	for {
		var ctx context.Context
		var span trace.Span
		ctx, span = lens.ManagedSpan(parent, lens.Step, "step")
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "inside")
		span.End()
	}
}

func fromAnotherVariable(parent context.Context) {
	var ctx context.Context
	var span trace.Span
	for {
		ctx, span = lens.ManagedSpan(parent, lens.Step, "step")
		_ = work(ctx)
		span.End()
	}
}

func restored(ctx context.Context) {
	for {
		saved := ctx
		var span trace.Span
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
		_ = work(ctx)
		span.End()
		ctx = saved
	}
}

func restoredFromOutside(ctx context.Context) {
	saved := ctx
	for {
		var span trace.Span
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
		_ = work(ctx)
		span.End()
		ctx = saved
	}
}

func restoredByDefer(ctx context.Context) {
	for {
		func() {
			saved := ctx
			defer func() { ctx = saved }()
			var span trace.Span
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
			defer span.End()
		}()
	}
}

func reset(ctx context.Context) {
	for {
		ctx = context.Background()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		_ = work(ctx)
		cancel()
	}
}

func returnsAfterIt(ctx context.Context, tracer trace.Tracer, items []int) error {
	for _, item := range items {
		if item == 7 {
			var span trace.Span
			ctx, span = tracer.Start(ctx, "found")
			defer span.End()
			return work(ctx)
		}
	}
	return nil
}

func breaksAfterIt(ctx context.Context, items []int) {
	var span trace.Span
loop:
	for _, item := range items {
		switch item {
		case 7:
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "found")
			break loop
		}
	}
	_ = work(ctx)
	span.End()
}

func endsTheProgramAfterIt(ctx context.Context, items []int) {
	for _, item := range items {
		if item == 7 {
			ctx, _ = lens.ManagedSpan(ctx, lens.Step, "found")
			log.Fatal(work(ctx))
		}
		if item == 8 {
			ctx, _ = lens.ManagedSpan(ctx, lens.Step, "found")
			panic(work(ctx))
		}
	}
}

func onceByItsSpan(ctx context.Context, in chan int) {
	var span trace.Span
	for range in {
		if span == nil {
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "first message and after")
		}
		_ = work(ctx)
	}
}

func onceByAFlag(ctx context.Context, in chan int) {
	started := false
	for range in {
		if !started {
			ctx, _ = lens.ManagedSpan(ctx, lens.Step, "first message and after")
			started = true
		}
		_ = work(ctx)
	}
}

func onceBySync(ctx context.Context, in chan int) {
	var once sync.Once
	for range in {
		once.Do(func() { ctx, _ = lens.ManagedSpan(ctx, lens.Step, "first message and after") })
		_ = work(ctx)
	}
}

func collects(ctx context.Context, values map[string]int) error {
	for key, value := range values {
		ctx = context.WithValue(ctx, key, value)
	}
	return work(ctx)
}

func collectsSoMany(ctx context.Context) error {
	for i := 0; i < 10; i++ {
		ctx = context.WithValue(ctx, i, i)
	}
	for i := range 10 {
		ctx = context.WithValue(ctx, i, i)
	}
	return work(ctx)
}

func rangeVariable(contexts []context.Context) {
	for _, ctx := range contexts {
		var span trace.Span
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
		_ = work(ctx)
		span.End()
	}
	var ctx context.Context
	for _, ctx = range contexts {
		var span trace.Span
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
		_ = work(ctx)
		span.End()
	}
}

func parameterOfALiteral(ctx context.Context) {
	for {
		func(ctx context.Context) {
			var span trace.Span
			ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
			_ = work(ctx)
			span.End()
		}(ctx)
	}
}

func noLoop(ctx context.Context) {
	var span trace.Span
	ctx, span = lens.ManagedSpan(ctx, lens.Job, "job")
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = work(ctx)
}

func outOfTheInnerLoop(ctx context.Context) {
	for {
		ctx := ctx
		for work(ctx) != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return
			}
		}
		ctx, _ = lens.ManagedSpan(ctx, lens.Step, "step")
		_ = work(ctx)
	}
}

type task struct{ ctx context.Context }

func fieldOfANewOne(ctx context.Context) {
	for {
		t := task{ctx: ctx}
		t.ctx, _ = lens.ManagedSpan(t.ctx, lens.Step, "step")
		_ = work(t.ctx)
	}
}

func newFieldEveryTime(ctx context.Context) {
	var t task
	for {
		t = task{ctx: ctx}
		t.ctx, _ = lens.ManagedSpan(t.ctx, lens.Step, "step")
		_ = work(t.ctx)
	}
}

// next may return anything: nothing says that it adds to its argument.
func next(ctx context.Context) context.Context { return ctx }

func unknown(ctx context.Context) {
	for {
		ctx = next(ctx)
	}
}
