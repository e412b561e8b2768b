// Package wrapped uses the helpers of another package in loops.
package wrapped

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"wrapper"
)

func overAWrapper(ctx context.Context, span trace.Span) {
	for {
		ctx, span = wrapper.StartStep(ctx, "step") // want `ctx, span := wrapper.StartStep`
		span.End()
	}
}

func overANamedResult(ctx context.Context, stop func()) {
	for {
		ctx, stop = wrapper.Named(ctx) // want `ctx, stop := wrapper.Named`
		stop()
	}
}

func overAMethod(ctx context.Context, job wrapper.Job) {
	for {
		var err error
		ctx, err = job.Enter(ctx, false) // want `ctx, err := job.Enter`
		if err != nil {
			return
		}
	}
}

func fine(ctx context.Context, cancel context.CancelFunc) {
	for {
		ctx = wrapper.Ensure(ctx)
		ctx, cancel = wrapper.Fresh(ctx)
		cancel()
	}
}
