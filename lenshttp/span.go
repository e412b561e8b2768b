//go:build !lens_noop

package lenshttp

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/web/w3c/propagator"
)

// otelOptions are the settings that otelhttp gets. It sees tracers, not spans'
// ends and names: start puts a span of this package between the two.
func (c *config) otelOptions(group lens.SpanGroup, start func(trace.Tracer) trace.Tracer) []otelhttp.Option {
	if c.propagators == nil {
		c.propagators = ambient{}
	}
	c.propagators = oneValue{c.propagators}
	meters := c.meters
	if meters == nil {
		meters = noop.NewMeterProvider()
	}
	opts := []otelhttp.Option{
		otelhttp.WithTracerProvider(provider{lens.GroupTracerProvider(group), c.scope, start}),
		otelhttp.WithMeterProvider(meters),
		otelhttp.WithPropagators(c.propagators),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return c.spanName(r) }),
	}
	if c.public {
		opts = append(opts, otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true }))
	}
	return opts
}

// spanName returns "METHOD route", or "METHOD" when no route is known.
func (c *config) spanName(r *http.Request) string {
	if c.name != nil {
		return c.name(r)
	}
	if route := routeOf(r.Pattern); route != "" {
		return method(r) + " " + route
	}
	return method(r)
}

// routeOf returns a pattern without its method and host.
func routeOf(pattern string) string {
	if i := strings.IndexByte(pattern, '/'); i >= 0 {
		return pattern[i:]
	}
	if _, rest, ok := strings.Cut(pattern, " "); ok {
		return rest
	}
	return pattern
}

type provider struct {
	trace.TracerProvider
	scope string
	start func(trace.Tracer) trace.Tracer
}

func (p provider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	if p.scope != "" {
		return p.start(p.TracerProvider.Tracer(p.scope))
	}
	return p.start(p.TracerProvider.Tracer(name, opts...))
}

// panicRecorder lets lens.End record a panic on a span that others end, or
// leave it alone.
type panicRecorder struct {
	trace.Span
	skip bool
}

func (p *panicRecorder) IsRecording() bool          { return !p.skip && p.Span.IsRecording() }
func (p *panicRecorder) End(...trace.SpanEndOption) {}

// oneValue reads no trace from several values of one header, whatever the format.
type oneValue struct{ propagation.TextMapPropagator }

func (p oneValue) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return p.TextMapPropagator.Extract(ctx, propagator.OneValue(carrier))
}

// ambient is the global propagator once one is installed, else W3C.
type ambient struct{}

// uninstalled is the type of the propagator that OpenTelemetry begins with. It
// hands over to what was installed first, so it can come to carry fields.
var uninstalled = reflect.TypeOf(otel.GetTextMapPropagator())

func (ambient) now() propagation.TextMapPropagator {
	p := otel.GetTextMapPropagator()
	if reflect.TypeOf(p) == uninstalled && len(p.Fields()) == 0 {
		return propagator.W3C
	}
	return p
}

func (a ambient) Fields() []string { return a.now().Fields() }

func (a ambient) Inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	a.now().Inject(ctx, carrier)
}

func (a ambient) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return a.now().Extract(ctx, carrier)
}
