package main

import (
	"context"
	"io"
	"log/slog"
	runtimetrace "runtime/trace"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

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

func must(err error) {
	if err != nil {
		panic(err)
	}
}
