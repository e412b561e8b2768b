// Package wrapper has helpers of a program's own around those that make
// contexts.
package wrapper

import (
	"context"
	"time"

	"github.com/nemo-lens/lens"
	"go.opentelemetry.io/otel/trace"
)

func StartStep(ctx context.Context, name string) (context.Context, trace.Span) { // want StartStep:"derives"
	return start(ctx, lens.Step, name)
}

func start(ctx context.Context, group lens.SpanGroup, name string) (context.Context, trace.Span) { // want start:"derives"
	ctx = context.WithValue(ctx, "group", group)
	return lens.ManagedSpan(ctx, group, name)
}

func Named(ctx context.Context) (out context.Context, stop func()) { // want Named:"derives"
	out, stop = context.WithTimeout(ctx, time.Second)
	return
}

type Job struct{}

func (Job) Enter(ctx context.Context, fail bool) (context.Context, error) { // want Enter:"derives"
	if fail {
		return nil, context.Canceled
	}
	return context.WithValue(ctx, "job", 1), nil
}

// Ensure adds once and then returns what it gets.
func Ensure(ctx context.Context) context.Context {
	if ctx.Value("id") != nil {
		return ctx
	}
	return context.WithValue(ctx, "id", 1)
}

// Fresh does not keep what it gets.
func Fresh(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Second)
}
