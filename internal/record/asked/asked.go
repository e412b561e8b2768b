// Package asked looks into contexts, which may be of any type: one whose Value panics
// has no value, and the application goes on.
package asked

import (
	"context"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Value is ctx.Value.
func Value(ctx context.Context, key any) (v any) {
	defer func() { _ = recover() }()
	return ctx.Value(key)
}

// Span is trace.SpanFromContext. It is never nil.
func Span(ctx context.Context) (s trace.Span) {
	s = noop.Span{}
	defer func() { _ = recover() }()
	return trace.SpanFromContext(ctx)
}

// SpanContext is trace.SpanContextFromContext.
func SpanContext(ctx context.Context) (sc trace.SpanContext) {
	defer func() { _ = recover() }()
	return trace.SpanContextFromContext(ctx)
}

// Baggage is baggage.FromContext.
func Baggage(ctx context.Context) (b baggage.Baggage) {
	defer func() { _ = recover() }()
	return baggage.FromContext(ctx)
}

// Context returns a context that can be asked by others: by propagators, for example.
func Context(ctx context.Context) context.Context { return guarded{ctx} }

type guarded struct{ context.Context }

func (g guarded) Value(key any) any { return Value(g.Context, key) }
