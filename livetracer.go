//go:build !lens_noop

package lens

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/record"
)

// Tracer returns the tracer with the scope "nemo.lens". It is not gated. Its
// spans go to the pipeline that is set up when they start.
func Tracer() trace.Tracer { return lensTracer }

var lensTracer = &liveTracer{scope: scopeLens}

// GroupTracerProvider returns a tracer provider whose spans obey the group, to
// be handed to an instrumentation library: otelhttp, otelgrpc or any other.
// The gate is read at every start. When the group is off, a start returns a span
// that records nothing, and children below it attach to the caller's span.
func GroupTracerProvider(group SpanGroup) trace.TracerProvider {
	return liveProvider{gated: true, group: group}
}

// liveProvider makes tracers that ask at every start which pipeline is set up.
type liveProvider struct {
	embedded.TracerProvider
	gated     bool
	group     SpanGroup
	installed bool // as the global provider
}

func (p liveProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return &liveTracer{liveProvider: p, scope: name, opts: opts}
}

// liveTracer never records into a pipeline that has gone, also when it was
// taken before a set-up or outlives a shutdown.
type liveTracer struct {
	embedded.Tracer
	liveProvider liveProvider
	scope        string
	opts         []trace.TracerOption
	last         atomic.Pointer[boundTracer]
}

// boundTracer is kept because making a tracer takes the provider's lock.
type boundTracer struct {
	pipeline *pipeline.Pipeline
	*record.Tracer
}

func (t *liveTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	from := &t.liveProvider
	if from.gated && !IsSpanGroupEnabled(from.group) {
		return passOver(ctx)
	}
	p := active.Load()
	if p == nil {
		t.last.Store(nil)
		if from.installed {
			return noop.NewTracerProvider().Tracer(t.scope).Start(ctx, name, opts...)
		}
		return otel.GetTracerProvider().Tracer(t.scope, t.opts...).Start(ctx, name, opts...)
	}
	bound := t.last.Load()
	if bound == nil || bound.pipeline != p {
		var ours *record.Tracer
		if p.Traces != nil {
			// A noop tracer, when it is being shut down.
			ours, _ = p.Traces.Tracer(t.scope, t.opts...).(*record.Tracer)
		}
		if ours == nil { // metrics or logs only
			return noop.NewTracerProvider().Tracer(t.scope).Start(ctx, name, opts...)
		}
		bound = &boundTracer{p, ours}
		t.last.Store(bound)
	}
	return bound.StartGroup(ctx, string(from.group), name, opts...)
}

// passOver returns what a switched-off start of a library gets. Libraries look
// for their span in the context that Start gave them and then set attributes
// on it and end it, so a recording span of the caller must not be found there;
// its identity stays, for the header and for children.
func passOver(ctx context.Context) (context.Context, trace.Span) {
	current := spanFrom(ctx)
	if !current.IsRecording() {
		return ctx, off
	}
	ctx = trace.ContextWithSpanContext(ctx, current.SpanContext())
	return ctx, trace.SpanFromContext(ctx)
}

// spanFrom is trace.SpanFromContext for a context of any type: one that panics has no
// span.
func spanFrom(ctx context.Context) (s trace.Span) {
	s = off
	defer func() { _ = recover() }()
	return trace.SpanFromContext(ctx)
}

// handleTracer is the tracer of one handle, which stops with it.
type handleTracer struct {
	embedded.Tracer
	h *TelemetryHandle
}

func (t handleTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if active.Load() != t.h.pipeline || t.h.tracer == nil {
		return noop.NewTracerProvider().Tracer(scopeLens).Start(ctx, name, opts...)
	}
	return t.h.tracer.Start(ctx, name, opts...)
}
