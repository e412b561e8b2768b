// Package growth has one loop in two forms, against the real lens: lensvet has
// to report the first, and TestE5AContextChainKeepsItsSpans measures what it keeps.
package growth

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
)

// Assign runs n steps, each with a context made from that of the step before,
// and returns the last.
func Assign(ctx context.Context, n int, work func(context.Context)) context.Context {
	var span trace.Span
	for range n {
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
		work(ctx)
		lens.End(span, nil)
	}
	return ctx
}

// Declare runs n steps, each with a context of its own, and returns ctx.
func Declare(ctx context.Context, n int, work func(context.Context)) context.Context {
	for range n {
		ctx, span := lens.ManagedSpan(ctx, lens.Step, "step")
		work(ctx)
		lens.End(span, nil)
	}
	return ctx
}
