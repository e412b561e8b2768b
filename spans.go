//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/record/errtype"
	"github.com/nemo-lens/lens/internal/record/panics"
	"github.com/nemo-lens/lens/internal/record/redact"
	"github.com/nemo-lens/lens/internal/record/scoped"
)

// The instrumentation scopes, as the reference has them: wrapped functions and
// Tracer use the first, the other primitives the second.
const (
	scopeLens    = pipeline.Scope
	scopeHelpers = pipeline.HelpersScope
)

// ManagedSpan starts a span when its group is on. It returns a context that
// carries the span, and the span, to be ended with [End]. When the group is
// off it returns ctx itself and a span that records nothing, allocates
// nothing, and does not look at attrs. A nil ctx counts as the background.
//
// Text attributes under one of [DefaultRedactKeys] become "[REDACTED]".
func ManagedSpan(ctx context.Context, group SpanGroup, name string, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	if !IsSpanGroupEnabled(group) {
		return ctx, noop.Span{}
	}
	return startSpan(ctx, scopeHelpers, group, name, attrs)
}

// ManagedSpanWith is [ManagedSpan] with any options of a span start, for
// example its kind, links or a start time. Their attributes, and those of the
// links, are redacted, too.
func ManagedSpanWith(ctx context.Context, group SpanGroup, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !IsSpanGroupEnabled(group) {
		return ctx, noop.Span{}
	}
	// The copy keeps the caller's slice on the caller's stack.
	private := slices.DeleteFunc(slices.Clone(opts), func(o trace.SpanStartOption) bool { return o == nil })
	if cfg := trace.NewSpanStartConfig(private...); redact.Any(cfg.Attributes(), strictRedaction()) || slices.ContainsFunc(cfg.Links(), secretLink) {
		private = rebuilt(cfg, privateCopy(cfg.Attributes()))
	}
	return startSpanWith(ctx, scopeHelpers, group, name, private...)
}

// rebuilt returns options that give cfg with other attributes.
func rebuilt(cfg trace.SpanConfig, attrs []attribute.KeyValue) []trace.SpanStartOption {
	links := slices.Clone(cfg.Links())
	for i := range links {
		links[i].Attributes = privateCopy(links[i].Attributes)
	}
	opts := []trace.SpanStartOption{trace.WithAttributes(attrs...), trace.WithLinks(links...), trace.WithSpanKind(cfg.SpanKind())}
	if !cfg.Timestamp().IsZero() {
		opts = append(opts, trace.WithTimestamp(cfg.Timestamp()))
	}
	if cfg.NewRoot() {
		opts = append(opts, trace.WithNewRoot())
	}
	return opts
}

func secretLink(l trace.Link) bool { return redact.Any(l.Attributes, strictRedaction()) }

// SpanCM starts a span whatever groups are on; end it with [End].
func SpanCM(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	return startSpan(ctx, scopeHelpers, "", name, attrs)
}

// LinkedSpan starts a span, whatever groups are on, that has a link to remote:
// a span that is related but not the parent, for example of the request that
// put a batch in the queue. The parent is that of ctx. Without a valid remote
// there is no link. End it with [End].
func LinkedSpan(ctx context.Context, name string, remote trace.SpanContext, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	if !remote.IsValid() {
		return startSpan(ctx, scopeHelpers, "", name, attrs)
	}
	return startSpanWith(ctx, scopeHelpers, "", name,
		trace.WithLinks(trace.Link{SpanContext: remote}), trace.WithAttributes(privateCopy(attrs)...))
}

// TraceFn wraps fn so that every call has a span when the group is on at the
// moment of the call. Arguments and results pass unchanged.
func TraceFn[In, Out any](group SpanGroup, name string, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		if !IsSpanGroupEnabled(group) {
			return fn(ctx, in)
		}
		ctx, span := startSpan(ctx, scopeLens, group, name, nil)
		defer End(span, &err)
		return fn(ctx, in)
	}
}

// TraceErrFn is [TraceFn] for a function without argument and result.
func TraceErrFn(group SpanGroup, name string, fn func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if !IsSpanGroupEnabled(group) {
			return fn(ctx)
		}
		ctx, span := startSpan(ctx, scopeLens, group, name, nil)
		defer End(span, &err)
		return fn(ctx)
	}
}

// clockSkew is by how much an end may lie before its start, because the two
// come from different clocks.
const clockSkew = 30 * time.Millisecond

// EmitSpan records an interval that is over: a stage timed before the set-up,
// or in another process. The parent is the span of ctx; the new span is never
// made current, but what is returned can be a parent:
// trace.ContextWithSpanContext(ctx, sc).
//
// When the group is off it returns a zero SpanContext and looks at nothing
// else. Equal times make a marker. An end that is up to 30 ms before the start
// is taken to be the start, with a warning in the log; more is an error and no
// span, and so is a zero time.
func EmitSpan(ctx context.Context, group SpanGroup, name string, start, end time.Time, attrs ...attribute.KeyValue) (trace.SpanContext, error) {
	if !IsSpanGroupEnabled(group) {
		return trace.SpanContext{}, nil
	}
	// A zero time would mean "now" to the SDK.
	for _, t := range []struct {
		name string
		time time.Time
	}{{"start", start}, {"end", end}} {
		if t.time.IsZero() {
			return trace.SpanContext{}, fmt.Errorf("lens: EmitSpan: span %q: the %s time is zero; give the time at which it happened", name, t.name)
		}
	}
	// Only wall clocks compare across processes.
	start, end = start.Round(0), end.Round(0)
	if behind := start.Sub(end); behind > clockSkew {
		return trace.SpanContext{}, fmt.Errorf("lens: EmitSpan: span %q: the end %s is %s before the start %s; at most %s is put down to clocks that differ",
			name, end.Format(time.RFC3339Nano), behind, start.Format(time.RFC3339Nano), clockSkew)
	} else if behind > 0 {
		log().Warn("clock skew", fmt.Sprintf("span %q: the end is %s before the start; it was recorded as a marker", name, behind))
		end = start
	}
	_, span := startSpanWith(ctx, scopeLens, group, name, trace.WithTimestamp(start), trace.WithAttributes(privateCopy(attrs)...))
	span.End(trace.WithTimestamp(end))
	return span.SpanContext(), nil
}

// WithTracer returns a context below which the primitives start their spans
// with t.
func WithTracer(ctx context.Context, t trace.Tracer) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if t == nil {
		return ctx
	}
	return scoped.WithTracer(ctx, t)
}

// WithSpanAttributes returns a context below which every new span of lens's
// provider, also one of an instrumentation library, carries attrs. Inner calls
// override outer ones; attributes given at the start of a span, or set on it
// later, win. Samplers see them. Text under one of [DefaultRedactKeys] becomes "[REDACTED]".
func WithSpanAttributes(ctx context.Context, attrs ...attribute.KeyValue) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if len(attrs) == 0 {
		return ctx
	}
	return scoped.WithAttributes(ctx, privateCopy(attrs))
}

// Tracer returns the tracer with the scope "nemo.lens". It is not gated. Its
// spans go to the pipeline that is set up when they start.
func Tracer() trace.Tracer { return lensTracer }

var lensTracer = globals.Tracers{TracerSettings: &globals.TracerSettings{Traces: activeTraces}}.Tracer(scopeLens)

// GroupTracerProvider returns a tracer provider whose spans obey the group, to
// be handed to an instrumentation library: otelhttp, otelgrpc or any other.
// The gate is read at every start. When the group is off, a start returns a span
// that records nothing, and children below it attach to the caller's span.
func GroupTracerProvider(group SpanGroup) trace.TracerProvider {
	return globals.Tracers{TracerSettings: &globals.TracerSettings{
		Traces: activeTraces, Group: string(group), On: func() bool { return IsSpanGroupEnabled(group) },
	}}
}

// startSpan leaves attrs on the caller's stack: the recorder copies them, and so
// does who else is given them.
func startSpan(ctx context.Context, scope string, group SpanGroup, name string, attrs []attribute.KeyValue) (context.Context, trace.Span) {
	now := published.Load()
	if redact.Any(attrs, now.strict) {
		attrs = redact.Copy(attrs, now.strict)
	}
	if now.traces != nil && ctx != nil && !scoped.TracersInUse.Load() {
		return now.traces.Own(scope).StartSpan(ctx, string(group), name, trace.SpanKindUnspecified, attrs)
	}
	return startSpanWith(ctx, scope, group, name, trace.WithAttributes(slices.Clone(attrs)...))
}

func startSpanWith(ctx context.Context, scope string, group SpanGroup, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
		log().Warn("nil context", fmt.Sprintf("the span %q was started with a nil context; pass the caller's, or context.Background()", name))
	}
	if scoped.TracersInUse.Load() {
		switch t, ok := scoped.Tracer(ctx); {
		case !ok:
			log().Warn("endless context", fmt.Sprintf("Value of a context (%T) starts spans without end; the span %q is not recorded", ctx, name))
			return ctx, noop.Span{}
		case t != nil:
			return t.Start(ctx, name, opts...)
		}
	}
	switch traces, active := activeTraces(); {
	case !active:
		return globals.Ambient(scope).Start(ctx, name, opts...)
	case traces == nil: // metrics or logs only
		return noop.NewTracerProvider().Tracer(scope).Start(ctx, name, opts...)
	default:
		return traces.Own(scope).StartGroup(ctx, string(group), name, opts...)
	}
}

// privateCopy returns a copy without secrets.
func privateCopy(attrs []attribute.KeyValue) []attribute.KeyValue {
	return redact.Copy(attrs, strictRedaction())
}

// End ends the span, to be deferred directly: defer lens.End(span, &err). A
// nil span and a nil err are allowed; ending twice ends once.
//
// A non-nil *err is recorded as an exception event and sets the status to
// Error, except for a cancellation, which only ends the span: context.Canceled,
// a gRPC status with the code Canceled, and the cause with which the context
// of the start was cancelled, wrapped or not; of joined errors all have to be
// that. Of a span that [WithTracer]'s tracer started the context is not known.
// The exception's type is that of the first error in the chain that does more
// than to add text. A panic is recorded once, with its
// stack, by the innermost span that it passes; every span that it passes ends
// with the status Error, and the same value goes on panicking. runtime.Goexit
// ends the span. A status that is already Ok stays in every case, as the SDK
// has it.
func End(span trace.Span, err *error) {
	if _, isOff := span.(noop.Span); isOff {
		return // the most frequent case, without a call
	}
	ours, recorded := span.(*record.Span)
	if !recorded && (span == nil || !span.IsRecording()) || recorded && !ours.IsRecording() {
		if span != nil {
			span.End()
		}
		return // recover is not called: a panic goes on untouched
	}
	if r := recover(); r != nil {
		text := panics.Text(r)
		if !panics.Recorded(r, "github.com/nemo-lens/lens.End") {
			addException(span, attribute.String("exception.type", reflect.TypeOf(r).String()),
				attribute.String("exception.message", text),
				attribute.String("exception.stacktrace", string(debug.Stack())))
		}
		span.SetStatus(codes.Error, text)
		span.End()
		panic(r)
	}
	if err != nil && *err != nil && !canceled(span, *err) {
		text := panics.Text(*err)
		addException(span, attribute.String("exception.type", errtype.Of(*err)),
			attribute.String("exception.message", text))
		span.SetStatus(codes.Error, text)
	}
	if recorded {
		ours.Finish()
		return
	}
	span.End()
}

// canceled reports whether err is a cancellation, also by a cause of the
// application's own of the context in which the span was started.
func canceled(span trace.Span, err error) bool {
	if ours, ok := span.(*record.Span); ok {
		return errtype.CanceledIn(ours.Context(), err)
	}
	return errtype.Canceled(err)
}

func addException(span trace.Span, attrs ...attribute.KeyValue) {
	if ours, ok := span.(*record.Span); ok {
		ours.AddEventAt("exception", time.Time{}, attrs)
		return
	}
	span.AddEvent("exception", trace.WithAttributes(attrs...))
}
