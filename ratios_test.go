//go:build !race && !lens_noop

package lens

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// medianRatio is how many times as long ours takes as theirs, for n operations each.
// They take turns in rounds so short that a busy machine interrupts few of them.
func medianRatio(n int, ours, theirs func(i int)) float64 {
	const rounds = 101
	took := func(f func(int)) float64 {
		start := time.Now()
		for i := range n {
			f(i)
		}
		return float64(time.Since(start))
	}
	took(ours)
	took(theirs)
	var a, b []float64
	for range rounds {
		a, b = append(a, took(ours)), append(b, took(theirs))
	}
	slices.Sort(a)
	slices.Sort(b)
	return a[rounds/2] / b[rounds/2]
}

// requireRatio fails when the ratio is above the limit three times in a row. The
// limits leave more than twice as much room as docs/performance.md shows to be used.
func requireRatio(t *testing.T, limit float64, measure func() float64) {
	t.Helper()
	var got []float64
	for range 3 {
		r := measure()
		if r <= limit {
			return
		}
		got = append(got, r)
	}
	t.Errorf("ratios %.2f, the limit is %.2f; make bench measures it properly", got, limit)
}

func TestRatioOffToSlog(t *testing.T) {
	SetEnabledSpanGroups(Job, Checkpoint, Evaluate)
	t.Cleanup(func() { SetEnabledSpanGroups() })
	ctx, logger := context.Background(), slog.New(slog.NewTextHandler(io.Discard, nil))
	requireRatio(t, 3, func() float64 {
		return medianRatio(5000, func(i int) {
			_, span := ManagedSpan(ctx, Step, "x", attribute.Int("i", i), attribute.String("s", "t"))
			End(span, nil)
		}, func(i int) {
			logger.LogAttrs(ctx, slog.LevelDebug, "x", slog.Int("i", i), slog.String("s", "t"))
		})
	})
}

func TestRatioOnToSDK(t *testing.T) {
	ctx := context.Background()
	cfg := DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled = true, "step", false
	h, err := SetupTelemetry(ctx, cfg, WithSpanExporter(discardSpans{}), WithLogger(slog.New(slog.DiscardHandler)), WithGlobalProvider(false))
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discardSpans{}))
	t.Cleanup(func() { _ = sdk.Shutdown(context.Background()) })
	tracer := sdk.Tracer("x")
	requireRatio(t, 0.8, func() float64 {
		return medianRatio(300, func(i int) {
			_, span := ManagedSpan(ctx, Step, "x", attribute.Int("i", i), attribute.String("s", "t"))
			End(span, nil)
		}, func(i int) {
			_, span := tracer.Start(ctx, "x", oteltrace.WithAttributes(attribute.Int("i", i), attribute.String("s", "t")))
			span.End()
		})
	})
}
