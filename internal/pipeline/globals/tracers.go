package globals

import (
	"context"
	"log/slog"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/record"
)

// Tracers is a tracer provider whose tracers ask at every start which set-up is active.
// It is comparable, so that it can be told from other global providers.
type Tracers struct {
	embedded.TracerProvider
	*TracerSettings
}

// TracerSettings are what Tracers asks. They must not change.
type TracerSettings struct {
	// Traces returns where spans go; active is true also for a set-up without spans.
	Traces func() (traces *pipeline.Traces, active bool)
	// Group is that of every span, and On reports whether it is switched on; nil is yes.
	Group string
	On    func() bool
	// Global is true for the provider that Install makes the global one, which has no
	// other one to fall back to while no set-up is active.
	Global bool
}

// Tracer implements trace.TracerProvider.
func (p Tracers) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return &tracer{from: p.TracerSettings, scope: name, opts: opts}
}

// tracer never records into a pipeline that has gone, also when it was taken before a
// set-up or outlives a shutdown.
type tracer struct {
	embedded.Tracer
	from  *TracerSettings
	scope string
	opts  []trace.TracerOption
	last  atomic.Pointer[boundTracer]
}

// boundTracer is kept because making a tracer takes the provider's lock.
type boundTracer struct {
	traces *pipeline.Traces
	*record.Tracer
}

func (t *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if t.from.On != nil && !t.from.On() {
		return passOver(ctx)
	}
	traces, active := t.from.Traces()
	if !active {
		t.last.Store(nil)
		if t.from.Global {
			return noop.NewTracerProvider().Tracer(t.scope).Start(ctx, name, opts...)
		}
		return otel.GetTracerProvider().Tracer(t.scope, t.opts...).Start(ctx, name, opts...)
	}
	bound := t.last.Load()
	if bound == nil || bound.traces != traces {
		var ours *record.Tracer
		if traces != nil {
			// A noop tracer, when it is being shut down.
			ours, _ = traces.Tracer(t.scope, t.opts...).(*record.Tracer)
		}
		if ours == nil { // metrics or logs only
			return noop.NewTracerProvider().Tracer(t.scope).Start(ctx, name, opts...)
		}
		bound = &boundTracer{traces, ours}
		t.last.Store(bound)
	}
	return bound.StartGroup(ctx, t.from.Group, name, opts...)
}

// passOver returns what a switched-off start of a library gets. Libraries look
// for their span in the context that Start gave them and then set attributes
// on it and end it, so a recording span of the caller must not be found there;
// its identity stays, for the header and for children.
func passOver(ctx context.Context) (context.Context, trace.Span) {
	current := spanIn(ctx)
	if !current.IsRecording() {
		return ctx, noop.Span{}
	}
	ctx = trace.ContextWithSpanContext(ctx, current.SpanContext())
	return ctx, trace.SpanFromContext(ctx)
}

// spanIn is trace.SpanFromContext for a context of any type: one that panics has no
// span.
func spanIn(ctx context.Context) (s trace.Span) {
	s = noop.Span{}
	defer func() { _ = recover() }()
	return trace.SpanFromContext(ctx)
}

// While is the tracer of one set-up, which stops with it.
type While struct {
	embedded.Tracer
	Active func() bool
	To     *record.Tracer // nil when no spans are recorded
	Scope  string
}

// Start implements trace.Tracer.
func (w While) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if w.To == nil || !w.Active() {
		return noop.NewTracerProvider().Tracer(w.Scope).Start(ctx, name, opts...)
	}
	return w.To.Start(ctx, name, opts...)
}

// hinted is set once the log was told that nobody has set telemetry up.
var hinted atomic.Bool

// Ambient returns the tracer for a process that was never set up, or was shut down: that
// of what the application has installed, if anything. The application's own logger is
// told once, because without a set-up there is no other.
func Ambient(scope string) trace.Tracer {
	if !hinted.Load() && hinted.CompareAndSwap(false, true) && IsDefault(otel.GetTracerProvider()) {
		slog.Debug("lens: spans are started and telemetry is not set up, so they are not recorded; call lens.SetupTelemetry first")
	}
	return otel.GetTracerProvider().Tracer(scope)
}
