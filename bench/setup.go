package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
)

// setUp measures SetupTelemetry together with the Shutdown that makes the next
// one possible.
func setUp(r *run) {
	ctx := context.Background()
	quietly := []lens.Option{lens.WithLogger(slog.New(slog.DiscardHandler)), lens.WithRank(0, 1), lens.WithGlobalProvider(false)}
	repeat := func(cfg lens.Config, opts ...lens.Option) func(int) {
		return func(n int) {
			for range n {
				h, err := lens.SetupTelemetry(ctx, cfg, append(opts, quietly...)...)
				must(err)
				must(h.Shutdown(ctx))
			}
		}
	}
	off, on := lens.DefaultConfig(), lens.DefaultConfig()
	on.Enabled, on.MetricsEnabled = true, false
	dead := on
	dead.Endpoint = "http://127.0.0.1:1" // nothing has that port, and nothing is sent
	t := table{title: "SetupTelemetry and Shutdown", rows: []subject{
		{name: "off", loop: repeat(off)},
		{name: "on, spans to an exporter of the program", loop: repeat(on, lens.WithSpanExporter(discardExporter{}))},
		{name: "on, OTLP, no collector", loop: repeat(dead)},
	}}
	r.measure(t)
}

// openSpans measures what the heap holds for each span that has not ended.
func openSpans(r *run) {
	n := r.scaled(1_000_000)
	must(os.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16"))
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	fmt.Fprintf(r, "\n### Heap of an open span and its context, of %d (bytes)\n\n| attributes | OTel SDK | lens | ratio |\n|---:|---:|---:|---:|\n", n)
	ctx := context.Background()
	for _, attrs := range []int{0, 2, 8} {
		s := shape{attrs, 1}
		measure := func(t trace.Tracer) float64 {
			open := make([]context.Context, n) // each holds its span
			before := heap()
			for i := range open {
				open[i], _ = t.Start(ctx, "train.step", trace.WithAttributes(attributesOf(s, i)...))
			}
			after := heap()
			runtime.KeepAlive(open)
			return (after - before) / float64(n)
		}
		t, stop := sdkTracer(sdktrace.WithSampler(sdktrace.AlwaysSample()))
		sdk := measure(t)
		stop()
		stop = setUpLens("per_step", lens.WithSpanExporter(discardExporter{}))
		ours := measure(lens.Tracer())
		stop()
		fmt.Fprintf(r, "| %d | %.0f | %.0f | %.2f |\n", attrs, sdk, ours, ours/sdk)
		if attrs == 2 {
			r.promise("heap of an open span, 2 attributes: lens / OTel SDK", 0.5, ours/sdk)
		}
	}
}

// sizes builds five small programs and shows how large they are.
func sizes(r *run) {
	const span = `_, span := otel.Tracer("x").Start(context.Background(), "x"); span.SetAttributes(attribute.Int("a", 1)); span.End()`
	const useLens = `package main
import ("context"; "github.com/nemo-lens/lens"; "go.opentelemetry.io/otel/attribute")
func main() {
	ctx := context.Background()
	h, _ := lens.SetupTelemetry(ctx, lens.DefaultConfig())
	defer h.Shutdown(ctx)
	_, span := lens.ManagedSpan(ctx, lens.Step, "x", attribute.Int("a", 1))
	lens.End(span, nil)
}`
	probes := []struct{ name, source, tags string }{
		{"empty program", "package main\nfunc main() {}", ""},
		{"otel/trace and otel/attribute", `package main
import ("context"; "go.opentelemetry.io/otel/attribute"; "go.opentelemetry.io/otel/trace/noop")
func main() { _, span := noop.NewTracerProvider().Tracer("x").Start(context.Background(), "x"); span.SetAttributes(attribute.Int("a", 1)); span.End() }`, ""},
		{"lens, built with lens_noop", useLens, "lens_noop"},
		{"lens", useLens, ""},
		{"OTel SDK with otlptracegrpc", `package main
import ("context"; "go.opentelemetry.io/otel"; "go.opentelemetry.io/otel/attribute"; "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"; sdktrace "go.opentelemetry.io/otel/sdk/trace")
func main() {
	e, _ := otlptracegrpc.New(context.Background())
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	otel.SetTracerProvider(p)
	` + span + `
	p.Shutdown(context.Background())
}`, ""},
	}
	fmt.Fprintf(r, "\n### Sizes of programs (%s/%s, symbols stripped)\n\n| program | MB |\n|---|---:|\n", runtime.GOOS, runtime.GOARCH)
	dir, err := os.MkdirTemp(".", "probe")
	if err != nil {
		fmt.Fprintf(r, "| missing: run it in the folder of the module: %v | |\n", err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, p := range probes {
		source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "probe.out")
		must(os.WriteFile(source, []byte(p.source), 0o600))
		out, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags="+p.tags, "-o", binary, source).CombinedOutput()
		if err != nil {
			fmt.Fprintf(r, "| %s | missing: %s |\n", p.name, strings.Join(strings.Fields(string(out)), " "))
			continue
		}
		info, err := os.Stat(binary)
		must(err)
		fmt.Fprintf(r, "| %s | %.2f |\n", p.name, float64(info.Size())/1e6)
	}
}

// middleware measures one request through a handler, without a network.
func middleware(spec string) func(*run) {
	return func(r *run) {
		bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discardExporter{}))
		var tracers trace.TracerProvider = provider
		if spec != "all" {
			tracers = noop.NewTracerProvider()
		}
		w3c := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}) // what lenshttp reads unasked
		stop := setUpLens(spec, lens.WithSpanExporter(discardExporter{}))
		serve := func(h http.Handler) func(int) {
			return func(n int) {
				req := httptest.NewRequest(http.MethodGet, "/v1/rollout", nil)
				for range n {
					h.ServeHTTP(httptest.NewRecorder(), req)
				}
			}
		}
		t := table{title: "HTTP middleware, spans " + map[bool]string{true: "on", false: "off"}[spec == "all"], rows: []subject{
			{name: "bare handler", loop: serve(bare)},
			{name: "lenshttp", loop: serve(lenshttp.Middleware(lens.Step)(bare)), stop: stop},
			{name: "otelhttp", loop: serve(otelhttp.NewHandler(bare, "server", otelhttp.WithTracerProvider(tracers), otelhttp.WithPropagators(w3c)))},
		}}
		results := r.measure(t)
		r.compare(t.title+": lenshttp / otelhttp", 1, results[1], results[2])
		must(provider.Shutdown(context.Background()))
	}
}
