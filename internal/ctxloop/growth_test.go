//go:build !lens_noop

package ctxloop_test

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/ctxloop/testdata/growth"
)

type form = func(context.Context, int, func(context.Context)) context.Context

// start records steps and throws them away.
func start(tb testing.TB) *lens.TelemetryHandle {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups, cfg.MetricsEnabled = true, "none", "step", false
	h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithGlobalProvider(false),
		lens.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := h.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return h
}

// retained returns how many bytes stay alive through the context that the loop
// leaves, once every span has ended and been exported.
func retained(tb testing.TB, h *lens.TelemetryHandle, loop form, n int) int64 {
	live := func() int64 {
		if err := h.ForceFlush(context.Background()); err != nil {
			tb.Fatal(err)
		}
		runtime.GC()
		runtime.GC() // what only a pool held in the first is gone in the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	loop(context.Background(), n, func(context.Context) {}) // fill the pools
	before := live()
	ctx := loop(context.Background(), n, func(context.Context) {})
	after := live()
	runtime.KeepAlive(ctx)
	return after - before
}

func TestWhatTheChainKeeps(t *testing.T) {
	const steps = 4096
	h := start(t)
	assigned := retained(t, h, growth.Assign, steps) / steps
	declared := retained(t, h, growth.Declare, steps) / steps
	// What else the process does may be in a sum, and is not in every one.
	for tries := 0; tries < 20 && (assigned < 200 || declared > 50); tries++ {
		assigned = max(assigned, retained(t, h, growth.Assign, steps)/steps)
		declared = min(declared, retained(t, h, growth.Declare, steps)/steps)
	}
	t.Logf("kept for every step: %d B with ctx, span = …; %d B with ctx, span := …", assigned, declared)
	// A context and its span are several hundred bytes; what else the process
	// does in between is far less for each of so many steps.
	if assigned < 200 {
		t.Errorf("ctx, span = … keeps %d B for every step, want 200 or more: the form that lensvet reports does not grow", assigned)
	}
	if declared > 50 {
		t.Errorf("ctx, span := … keeps %d B for every step, want none: the remedy that lensvet gives grows", declared)
	}
}

// Every span of the wrong form is below the one before.
func TestWhatTheChainDoesToTheTrace(t *testing.T) {
	start(t)
	for _, c := range []struct {
		name string
		loop form
		want int
	}{{"assign", growth.Assign, 99}, {"declare", growth.Declare, 0}} {
		below := 0
		var last trace.TraceID
		c.loop(context.Background(), 100, func(ctx context.Context) {
			id := trace.SpanContextFromContext(ctx).TraceID()
			if id == last {
				below++
			}
			last = id
		})
		if below != c.want {
			t.Errorf("%s: %d spans are in the trace of the step before, want %d", c.name, below, c.want)
		}
	}
}

func BenchmarkLoop(b *testing.B) {
	for _, c := range []struct {
		name string
		loop form
	}{{"assign", growth.Assign}, {"declare", growth.Declare}} {
		b.Run(c.name, func(b *testing.B) {
			h := start(b)
			const steps = 10_000
			var kept int64
			for b.Loop() {
				kept = retained(b, h, c.loop, steps)
			}
			b.ReportMetric(float64(kept)/steps, "kept-B/step")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*steps), "ns/step")
		})
	}
}
