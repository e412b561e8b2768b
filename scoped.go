//go:build !lens_noop

package lens

import (
	"context"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

type scopedKey struct{}

// scopedInUse is set once WithSpanAttributes was called, so that programs that
// never do pay for no look-up.
var scopedInUse atomic.Bool

// WithSpanAttributes returns a context below which every new span of lens's
// provider, also one of an instrumentation library, carries attrs. Inner calls
// override outer ones; attributes given at the start of a span, or set on it
// later, win. Text under one of [DefaultRedactKeys] becomes "[REDACTED]".
func WithSpanAttributes(ctx context.Context, attrs ...attribute.KeyValue) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if len(attrs) == 0 {
		return ctx
	}
	outer, _ := ctx.Value(scopedKey{}).([]attribute.KeyValue)
	merged := slices.Clone(outer)
	for _, kv := range privateCopy(attrs) {
		if i := slices.IndexFunc(merged, func(have attribute.KeyValue) bool { return have.Key == kv.Key }); i >= 0 {
			merged[i] = kv
		} else {
			merged = append(merged, kv)
		}
	}
	scopedInUse.Store(true)
	return context.WithValue(ctx, scopedKey{}, merged)
}

// scopedAttributes is the processor that sets them. It comes before all others,
// so that they see the attributes.
type scopedAttributes struct{}

func (scopedAttributes) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if !scopedInUse.Load() {
		return
	}
	attrs, _ := parent.Value(scopedKey{}).([]attribute.KeyValue)
	if len(attrs) == 0 {
		return
	}
	given := s.Attributes()
	for _, kv := range attrs {
		if !slices.ContainsFunc(given, func(have attribute.KeyValue) bool { return have.Key == kv.Key }) {
			s.SetAttributes(kv)
		}
	}
}

func (scopedAttributes) OnEnd(sdktrace.ReadOnlySpan)      {}
func (scopedAttributes) Shutdown(context.Context) error   { return nil }
func (scopedAttributes) ForceFlush(context.Context) error { return nil }
