// Package scoped keeps in a context what holds for every span that is started below it:
// attributes, and the tracer to start it with. A program that uses neither pays for no
// look-up.
package scoped

import (
	"context"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/record/panics"
)

type (
	attributesKey struct{}
	tracerKey     struct{}
)

var attributesInUse atomic.Bool

// WithAttributes returns a context with attrs beside those that it has; of two with one
// key the new one stays.
func WithAttributes(ctx context.Context, attrs []attribute.KeyValue) context.Context {
	outer, _ := value(ctx, attributesKey{}).([]attribute.KeyValue)
	merged := slices.Clone(outer)
	for _, kv := range attrs {
		if i := slices.IndexFunc(merged, func(have attribute.KeyValue) bool { return have.Key == kv.Key }); i >= 0 {
			merged[i] = kv
		} else {
			merged = append(merged, kv)
		}
	}
	attributesInUse.Store(true)
	return context.WithValue(ctx, attributesKey{}, merged)
}

// Attributes returns those of ctx, which must not be changed.
func Attributes(ctx context.Context) []attribute.KeyValue {
	if !attributesInUse.Load() {
		return nil
	}
	attrs, _ := ctx.Value(attributesKey{}).([]attribute.KeyValue)
	return attrs
}

// TracersInUse is set once WithTracer was called; before that no context has one.
var TracersInUse atomic.Bool

// WithTracer returns a context with the tracer.
func WithTracer(ctx context.Context, t trace.Tracer) context.Context {
	TracersInUse.Store(true)
	return context.WithValue(ctx, tracerKey{}, t)
}

// lookups are under way, and endless of them were found to be nested without end.
var lookups, endless atomic.Int64

// Tracer returns the tracer of WithTracer, or nil. It reports false for a context
// whose Value starts a span, which asks for the tracer again, and so on: when many
// look-ups are under way one asks its own stack.
func Tracer(ctx context.Context) (t trace.Tracer, ok bool) {
	const crowded, nested = 64, 16
	defer lookups.Add(-1)
	if lookups.Add(1) > crowded && panics.Frames("github.com/nemo-lens/lens/internal/record/scoped.Tracer", nested) >= nested {
		endless.Add(1)
		return nil, false
	}
	before := endless.Load()
	t, _ = value(ctx, tracerKey{}).(trace.Tracer)
	return t, endless.Load() == before
}

// value is ctx.Value for a context of any type: one that panics has no value.
func value(ctx context.Context, key any) (v any) {
	defer func() { _ = recover() }()
	return ctx.Value(key)
}
