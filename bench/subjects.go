package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	runtimetrace "runtime/trace"
	"strings"
	"time"

	"github.com/DataDog/dd-trace-go/v2/ddtrace/tracer"
	"github.com/getsentry/sentry-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/nemo-lens/lens"
)

// shape is what every operation of a table looks like.
type shape struct {
	attrs int // 0, 2 or 8
	depth int // spans below one another: 1 or 5
}

// The variadic calls are written out, so that no subject pays for a slice that
// its users would not make.

func lensLoop(group lens.SpanGroup, s shape) func(int) {
	ctx := context.Background()
	var nested func(ctx context.Context, depth, i int)
	nested = func(ctx context.Context, depth, i int) {
		var span trace.Span
		switch s.attrs {
		case 0:
			ctx, span = lens.ManagedSpan(ctx, group, "train.step")
		case 2:
			ctx, span = lens.ManagedSpan(ctx, group, "train.step", attribute.Int("dl.iteration", i), attribute.String("phase", "train"))
		default:
			ctx, span = lens.ManagedSpan(ctx, group, "train.step", attribute.Int("dl.iteration", i), attribute.String("phase", "train"),
				attribute.Int("epoch", 3), attribute.Float64("loss", 0.5), attribute.Bool("warm", true),
				attribute.String("device", "cuda:0"), attribute.Int("microbatch", i), attribute.Int("tokens", 4096))
		}
		defer lens.End(span, nil)
		if depth > 1 {
			nested(ctx, depth-1, i)
		}
	}
	if s.depth > 1 {
		return func(n int) {
			for i := range n {
				nested(ctx, s.depth, i)
			}
		}
	}
	switch s.attrs {
	case 0:
		return func(n int) {
			for range n {
				_, span := lens.ManagedSpan(ctx, group, "train.step")
				lens.End(span, nil)
			}
		}
	case 2:
		return func(n int) {
			for i := range n {
				_, span := lens.ManagedSpan(ctx, group, "train.step", attribute.Int("dl.iteration", i), attribute.String("phase", "train"))
				lens.End(span, nil)
			}
		}
	}
	return func(n int) {
		for i := range n {
			nested(ctx, 1, i)
		}
	}
}

func lensGuarded(group lens.SpanGroup) func(int) {
	ctx := context.Background()
	return func(n int) {
		for i := range n {
			if lens.IsSpanGroupEnabled(group) {
				_, span := lens.ManagedSpan(ctx, group, "train.step", attribute.Int("dl.iteration", i))
				lens.End(span, nil)
			}
		}
	}
}

func attributesOf(s shape, i int) []attribute.KeyValue {
	switch s.attrs {
	case 0:
		return nil
	case 2:
		return []attribute.KeyValue{attribute.Int("dl.iteration", i), attribute.String("phase", "train")}
	}
	return []attribute.KeyValue{attribute.Int("dl.iteration", i), attribute.String("phase", "train"),
		attribute.Int("epoch", 3), attribute.Float64("loss", 0.5), attribute.Bool("warm", true),
		attribute.String("device", "cuda:0"), attribute.Int("microbatch", i), attribute.Int("tokens", 4096)}
}

// otelLoop gives the attributes at the start, or sets them after it.
func otelLoop(t trace.Tracer, s shape, atStart bool) func(int) {
	ctx := context.Background()
	var nested func(ctx context.Context, depth, i int)
	nested = func(ctx context.Context, depth, i int) {
		var span trace.Span
		switch {
		case s.attrs == 0:
			ctx, span = t.Start(ctx, "train.step")
		case atStart:
			ctx, span = t.Start(ctx, "train.step", trace.WithAttributes(attributesOf(s, i)...))
		default:
			ctx, span = t.Start(ctx, "train.step")
			span.SetAttributes(attributesOf(s, i)...)
		}
		defer span.End()
		if depth > 1 {
			nested(ctx, depth-1, i)
		}
	}
	return func(n int) {
		for i := range n {
			nested(ctx, s.depth, i)
		}
	}
}

func ddLoop(s shape) func(int) {
	ctx := context.Background()
	var nested func(ctx context.Context, depth, i int)
	nested = func(ctx context.Context, depth, i int) {
		span, ctx := tracer.StartSpanFromContext(ctx, "train.step")
		for _, kv := range attributesOf(s, i) {
			span.SetTag(string(kv.Key), kv.Value.AsInterface())
		}
		defer span.Finish()
		if depth > 1 {
			nested(ctx, depth-1, i)
		}
	}
	return func(n int) {
		for i := range n {
			nested(ctx, s.depth, i)
		}
	}
}

// sentryLoop starts a transaction for the outermost span, as that is the unit
// that Sentry sends.
func sentryLoop(hub *sentry.Hub, s shape) func(int) {
	ctx := sentry.SetHubOnContext(context.Background(), hub)
	var nested func(ctx context.Context, depth, i int)
	nested = func(ctx context.Context, depth, i int) {
		span := sentry.StartSpan(ctx, "train.step")
		for _, kv := range attributesOf(s, i) {
			span.SetData(string(kv.Key), kv.Value.AsInterface())
		}
		defer span.Finish()
		if depth > 1 {
			nested(span.Context(), depth-1, i)
		}
	}
	return func(n int) {
		for i := range n {
			nested(ctx, s.depth, i)
		}
	}
}

func regionLoop() func(int) {
	ctx := context.Background()
	return func(n int) {
		for range n {
			runtimetrace.StartRegion(ctx, "train.step").End()
		}
	}
}

func slogLoop(s shape) func(int) {
	ctx, l := context.Background(), slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo}))
	switch s.attrs {
	case 0:
		return func(n int) {
			for range n {
				l.LogAttrs(ctx, slog.LevelDebug, "train.step")
			}
		}
	case 2:
		return func(n int) {
			for i := range n {
				l.LogAttrs(ctx, slog.LevelDebug, "train.step", slog.Int("dl.iteration", i), slog.String("phase", "train"))
			}
		}
	}
	return func(n int) {
		for i := range n {
			l.LogAttrs(ctx, slog.LevelDebug, "train.step", slog.Int("dl.iteration", i), slog.String("phase", "train"),
				slog.Int("epoch", 3), slog.Float64("loss", 0.5), slog.Bool("warm", true),
				slog.String("device", "cuda:0"), slog.Int("microbatch", i), slog.Int("tokens", 4096))
		}
	}
}

func zapLoop(s shape) func(int) {
	l := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel))
	switch s.attrs {
	case 0:
		return func(n int) {
			for range n {
				l.Debug("train.step")
			}
		}
	case 2:
		return func(n int) {
			for i := range n {
				l.Debug("train.step", zap.Int("dl.iteration", i), zap.String("phase", "train"))
			}
		}
	}
	return func(n int) {
		for i := range n {
			l.Debug("train.step", zap.Int("dl.iteration", i), zap.String("phase", "train"),
				zap.Int("epoch", 3), zap.Float64("loss", 0.5), zap.Bool("warm", true),
				zap.String("device", "cuda:0"), zap.Int("microbatch", i), zap.Int("tokens", 4096))
		}
	}
}

// discardExporter is where the spans of lens and of the SDK end.
type discardExporter struct{}

func (discardExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discardExporter) Shutdown(context.Context) error                             { return nil }

// setUpLens sets lens up so that exactly the groups of spec are on.
func setUpLens(spec string, opts ...lens.Option) (stop func()) {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled = true, spec, false
	h, err := lens.SetupTelemetry(context.Background(), cfg, append([]lens.Option{
		lens.WithLogger(slog.New(slog.DiscardHandler)), lens.WithRank(0, 1), lens.WithGlobalProvider(false),
	}, opts...)...)
	must(err)
	return func() { _ = h.Shutdown(context.Background()) } // what a flood has lost is in its own table
}

func sdkTracer(opts ...sdktrace.TracerProviderOption) (trace.Tracer, func()) {
	p := sdktrace.NewTracerProvider(append([]sdktrace.TracerProviderOption{sdktrace.WithBatcher(discardExporter{})}, opts...)...)
	return p.Tracer("bench"), func() { must(p.Shutdown(context.Background())) }
}

// answers is an agent that takes everything.
type answers struct{}

func (answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

type quiet struct{}

func (quiet) Log(string) {}

func startDatadog(rate float64) (stop func()) {
	must(os.Setenv("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false"))
	must(os.Setenv("DD_REMOTE_CONFIGURATION_ENABLED", "false"))
	must(tracer.Start(tracer.WithHTTPClient(&http.Client{Transport: answers{}}), tracer.WithLogStartup(false),
		tracer.WithLogger(quiet{}), tracer.WithSamplerRate(rate), tracer.WithService("bench")))
	return tracer.Stop
}

type discardEvents struct{}

func (discardEvents) Flush(time.Duration) bool              { return true }
func (discardEvents) FlushWithContext(context.Context) bool { return true }
func (discardEvents) Configure(sentry.ClientOptions)        {}
func (discardEvents) SendEvent(*sentry.Event)               {}
func (discardEvents) Close()                                {}

func sentryHub(rate float64) *sentry.Hub {
	c, err := sentry.NewClient(sentry.ClientOptions{Dsn: "http://key@127.0.0.1/1", EnableTracing: rate > 0, TracesSampleRate: rate, Transport: discardEvents{}})
	must(err)
	return sentry.NewHub(c, sentry.NewScope())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// offTable has every tracer switched off; lens is set up, with the group of the
// site off.
func offTable(s shape, goroutines int) table {
	stop := setUpLens("default", lens.WithSpanExporter(discardExporter{}))
	rows := []subject{
		{name: "lens", loop: lensLoop(lens.Step, s), stop: stop},
		{name: "slog LogAttrs", loop: slogLoop(s)},
		{name: "zap", loop: zapLoop(s)},
		{name: "OTel noop, attributes at the start", loop: otelLoop(noop.NewTracerProvider().Tracer("bench"), s, true)},
		{name: "OTel noop, attributes set", loop: otelLoop(noop.NewTracerProvider().Tracer("bench"), s, false)},
		{name: "OTel global, never set", loop: otelLoop(otel.Tracer("bench"), s, true)},
		{name: "dd-trace-go, not started", loop: ddLoop(s)},
		{name: "sentry-go, tracing off", loop: sentryLoop(sentryHub(0), s)},
	}
	if s.depth == 1 {
		rows = append(rows, subject{name: "runtime/trace StartRegion", loop: regionLoop()}, subject{name: "lens, guarded", loop: lensGuarded(lens.Step)})
	}
	return table{goroutines: goroutines, rows: rows}
}

func onTable(s shape, goroutines int) table {
	stopLens := setUpLens("per_step", lens.WithSpanExporter(discardExporter{}))
	stopDD := startDatadog(1)
	t, stopSDK := sdkTracer()
	return table{goroutines: goroutines, rows: []subject{
		{name: "OTel SDK, attributes at the start", loop: otelLoop(t, s, true), stop: stopSDK},
		{name: "OTel SDK, attributes set", loop: otelLoop(t, s, false)},
		{name: "lens", loop: lensLoop(lens.Step, s), stop: stopLens},
		{name: "dd-trace-go", loop: ddLoop(s), stop: stopDD},
		{name: "sentry-go", loop: sentryLoop(sentryHub(1), s)},
	}}
}

func neverTable(s shape, goroutines int) table {
	must(os.Setenv("OTEL_TRACES_SAMPLER", "always_off"))
	stopLens := setUpLens("per_step", lens.WithSpanExporter(discardExporter{}))
	must(os.Unsetenv("OTEL_TRACES_SAMPLER"))
	stopDD := startDatadog(0)
	t, stopSDK := sdkTracer(sdktrace.WithSampler(sdktrace.NeverSample()))
	return table{goroutines: goroutines, rows: []subject{
		{name: "OTel SDK, attributes at the start", loop: otelLoop(t, s, true), stop: stopSDK},
		{name: "lens", loop: lensLoop(lens.Step, s), stop: stopLens},
		{name: "dd-trace-go", loop: ddLoop(s), stop: stopDD},
		{name: "sentry-go", loop: sentryLoop(sentryHub(1e-12), s)},
	}}
}
