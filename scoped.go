//go:build !lens_noop

package lens

import (
	"context"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
)

type scopedKey struct{}

// scopedInUse is set once WithSpanAttributes was called, so that programs that
// never do pay for no look-up.
var scopedInUse atomic.Bool

// WithSpanAttributes returns a context below which every new span of lens's
// provider, also one of an instrumentation library, carries attrs. Inner calls
// override outer ones; attributes given at the start of a span, or set on it
// later, win. Samplers see them. Text under one of [DefaultRedactKeys] becomes "[REDACTED]".
func WithSpanAttributes(ctx context.Context, attrs ...attribute.KeyValue) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if len(attrs) == 0 {
		return ctx
	}
	outer, _ := valueIn(ctx, scopedKey{}).([]attribute.KeyValue)
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

// scopedAttributes returns those that spans below ctx get.
func scopedAttributes(ctx context.Context) []attribute.KeyValue {
	if !scopedInUse.Load() {
		return nil
	}
	attrs, _ := ctx.Value(scopedKey{}).([]attribute.KeyValue)
	return attrs
}

// valueIn is ctx.Value for a context of any type: one that panics has no value.
func valueIn(ctx context.Context, key any) (v any) {
	defer func() { _ = recover() }()
	return ctx.Value(key)
}
