package main

import (
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens"
)

// The names of rows that ratios are made of.
const (
	ours     = "lens"
	sdkStart = "OTel SDK, attributes at the start"
	slogOff  = "slog LogAttrs"
)

func notFetched(module string) string { return "the module " + module + " could not be fetched" }

// isTracer tells other tracers from loggers and the profiler's regions.
func isTracer(name string) bool {
	for _, prefix := range []string{"OTel", "dd-trace-go", "sentry-go"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// offTable has every tracer switched off; lens is set up, with the group of the
// site off.
func offTable(s shape) table {
	stop := setUpLens("default", lens.WithSpanExporter(discardExporter{}))
	rows := []subject{
		{name: ours, loop: lensLoop(lens.Step, s), stop: stop},
		{name: slogOff, loop: slogLoop(s)},
		zapOff(s),
		{name: "OTel noop, attributes at the start", loop: otelLoop(noop.NewTracerProvider().Tracer("bench"), s, true)},
		{name: "OTel noop, attributes set", loop: otelLoop(noop.NewTracerProvider().Tracer("bench"), s, false)},
		{name: "OTel global, never set", loop: otelLoop(otel.Tracer("bench"), s, true)},
		datadog("dd-trace-go, not started", -1, s),
		sentryRow("sentry-go, tracing off", 0, s),
	}
	if s.depth == 1 {
		rows = append(rows, subject{name: "runtime/trace StartRegion", loop: regionLoop()}, subject{name: "lens, guarded", loop: lensGuarded(lens.Step)})
	}
	return table{rows: rows}
}

func onTable(s shape) table {
	stopLens := setUpLens("per_step", lens.WithSpanExporter(discardExporter{}))
	t, stopSDK := sdkTracer()
	return table{rows: []subject{
		{name: sdkStart, loop: otelLoop(t, s, true), stop: stopSDK},
		{name: "OTel SDK, attributes set", loop: otelLoop(t, s, false)},
		{name: ours, loop: lensLoop(lens.Step, s), stop: stopLens},
		datadog("dd-trace-go", 1, s),
		sentryRow("sentry-go", 1, s),
	}}
}

func neverTable(s shape) table {
	must(os.Setenv("OTEL_TRACES_SAMPLER", "always_off"))
	stopLens := setUpLens("per_step", lens.WithSpanExporter(discardExporter{}))
	must(os.Unsetenv("OTEL_TRACES_SAMPLER"))
	t, stopSDK := sdkTracer(sdktrace.WithSampler(sdktrace.NeverSample()))
	return table{rows: []subject{
		{name: sdkStart, loop: otelLoop(t, s, true), stop: stopSDK},
		{name: ours, loop: lensLoop(lens.Step, s), stop: stopLens},
		datadog("dd-trace-go", 0, s),
		sentryRow("sentry-go", 1e-12, s),
	}}
}

// tracers is the table of one way to use tracers, and the ratios in it.
func tracers(title string, build func(shape) table, s shape, goroutines int) func(*run) {
	return func(r *run) {
		t := build(s)
		what := fmt.Sprintf("%s, %d attributes, depth %d, %d goroutines", title, s.attrs, s.depth, goroutines)
		t.title, t.goroutines = what, goroutines
		results := r.measure(t)
		lens := named(results, ours)
		if title == "Switched off" && s.depth == 1 {
			r.compare(what+": lens / slog switched off", 1.2, lens, named(results, slogOff))
		}
		if title == "On" {
			limit := 0.0
			if s == (shape{2, 1}) {
				limit = 0.35
			}
			r.compare(what+": lens / OTel SDK", limit, lens, named(results, sdkStart))
		}
		best := fastest(results, isTracer)
		r.compare(what+": lens / fastest other tracer ("+best.name+")", 1, lens, best)
	}
}
