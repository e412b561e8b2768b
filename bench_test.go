//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/trace"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// The baselines of the promises, to be compared within one run.

var (
	bits      atomic.Uint64
	sinkAttrs []attribute.KeyValue
)

// bareGate is what the gate is held to: one function that loads an atomic word
// and tests a bit of it.
//
//go:noinline
func bareGate(g SpanGroup) bool { return bits.Load()>>(len(g)&63)&1 != 0 }

// BenchmarkGate compares one call of the gate with one call of bareGate, for
// the same names: a group that is on, one that is off and has the length and
// all but the last byte of one that is on, and one whose length no group has.
// The last is answered where it is asked, without a call.
func BenchmarkGate(b *testing.B) {
	const hit, nearMiss, miss SpanGroup = "group_000", "group_00x", "step"
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			sinkBool = bareGate(hit)
		}
	})
	for _, n := range []int{1, 8, 64, 256} {
		gs := make([]SpanGroup, n)
		for i := range gs {
			gs[i] = SpanGroup(fmt.Sprintf("group_%03d", i))
		}
		SetEnabledSpanGroups(gs...)
		b.Run(fmt.Sprintf("hit/%d", n), func(b *testing.B) {
			for b.Loop() {
				sinkBool = IsSpanGroupEnabled(hit)
			}
		})
		b.Run(fmt.Sprintf("near miss/%d", n), func(b *testing.B) {
			for b.Loop() {
				sinkBool = IsSpanGroupEnabled(nearMiss)
			}
		})
		b.Run(fmt.Sprintf("miss/%d", n), func(b *testing.B) {
			for b.Loop() {
				sinkBool = IsSpanGroupEnabled(miss)
			}
		})
	}
	SetEnabledSpanGroups()
}

func BenchmarkBaseline(b *testing.B) {
	ctx := context.Background()
	b.Run("atomic load and bit test", func(b *testing.B) {
		for b.Loop() {
			sinkBool = bits.Load()&(1<<5) != 0
		}
	})
	b.Run("StartRegion", func(b *testing.B) {
		for b.Loop() {
			trace.StartRegion(ctx, "x").End()
		}
	})
	b.Run("two attributes and a bool", func(b *testing.B) {
		for b.Loop() {
			attrs := [2]attribute.KeyValue{attribute.Int("i", 1), attribute.String("s", "t")}
			if sinkBool {
				sinkAttrs = append([]attribute.KeyValue(nil), attrs[:]...)
			}
		}
	})
}

func BenchmarkOffGuarded(b *testing.B) {
	ctx := context.Background()
	before := SetEnabledSpanGroups(Job, Checkpoint, Evaluate)
	defer SetEnabledSpanGroups(before.Groups()...)
	for b.Loop() {
		if IsSpanGroupEnabled(Step) {
			_, span := ManagedSpan(ctx, Step, "x")
			End(span, nil)
		}
	}
}

// BenchmarkOn compares an enabled span with all guarantees to the bare SDK.
func BenchmarkOn(b *testing.B) {
	ctx := context.Background()
	b.Run("sdk", func(b *testing.B) {
		tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discardSpans{}))
		b.Cleanup(func() { _ = tp.Shutdown(ctx) })
		tracer := tp.Tracer("x")
		b.ReportAllocs()
		for b.Loop() {
			_, span := tracer.Start(ctx, "x", oteltrace.WithAttributes(attribute.Int("i", 1), attribute.String("s", "t")))
			span.End()
		}
	})
	b.Run("lens", func(b *testing.B) {
		cfg := DefaultConfig()
		cfg.Enabled, cfg.SpanGroups = true, "step"
		h, err := SetupTelemetry(ctx, cfg, WithSpanExporter(discardSpans{}), WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		require.NoError(b, err)
		b.Cleanup(func() { _ = h.Shutdown(ctx) })
		b.ReportAllocs()
		for b.Loop() {
			_, span := ManagedSpan(ctx, Step, "x", attribute.Int("i", 1), attribute.String("s", "t"))
			End(span, nil)
		}
	})
}

type discardSpans struct{}

func (discardSpans) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discardSpans) Shutdown(context.Context) error                             { return nil }
