//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/record/errtype"
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
	if cfg := trace.NewSpanStartConfig(private...); anySecret(cfg.Attributes()) || slices.ContainsFunc(cfg.Links(), secretLink) {
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

func secretLink(l trace.Link) bool { return anySecret(l.Attributes) }

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

// startSpan leaves attrs on the caller's stack: the recorder copies them, and so
// does who else is given them.
func startSpan(ctx context.Context, scope string, group SpanGroup, name string, attrs []attribute.KeyValue) (context.Context, trace.Span) {
	if anySecret(attrs) {
		attrs = privateCopy(attrs)
	}
	if p := active.Load(); p != nil && p.Traces != nil && ctx != nil && !tracersInContext.Load() {
		return p.Traces.Own(scope).StartSpan(ctx, string(group), name, trace.SpanKindUnspecified, attrs)
	}
	return startSpanWith(ctx, scope, group, name, trace.WithAttributes(slices.Clone(attrs)...))
}

func startSpanWith(ctx context.Context, scope string, group SpanGroup, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
		log().Warn("nil context", fmt.Sprintf("the span %q was started with a nil context; pass the caller's, or context.Background()", name))
	}
	if tracersInContext.Load() {
		switch t, ok := tracerIn(ctx); {
		case !ok:
			log().Warn("endless context", fmt.Sprintf("Value of a context (%T) starts spans without end; the span %q is not recorded", ctx, name))
			return ctx, noop.Span{}
		case t != nil:
			return t.Start(ctx, name, opts...)
		}
	}
	switch p := active.Load(); {
	case p == nil:
		return ambientTracer(scope).Start(ctx, name, opts...)
	case p.Traces == nil: // metrics or logs only
		return noop.NewTracerProvider().Tracer(scope).Start(ctx, name, opts...)
	default:
		return p.Traces.Own(scope).StartGroup(ctx, string(group), name, opts...)
	}
}

type tracerKey struct{}

// tracersInContext is set once WithTracer was called, so that programs that
// never do pay for no look-up.
var tracersInContext atomic.Bool

// lookups are under way, and endless of them were found to be nested without end.
var lookups, endless atomic.Int64

// tracerIn returns the tracer of WithTracer, or nil. It reports false for a context
// whose Value starts a span, which asks for the tracer again, and so on: when many
// look-ups are under way one asks its own stack.
func tracerIn(ctx context.Context) (t trace.Tracer, ok bool) {
	const crowded, nested = 64, 16
	defer lookups.Add(-1)
	if lookups.Add(1) > crowded && framesOf("github.com/nemo-lens/lens.tracerIn", nested) >= nested {
		endless.Add(1)
		return nil, false
	}
	before := endless.Load()
	t, _ = valueIn(ctx, tracerKey{}).(trace.Tracer)
	return t, endless.Load() == before
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
	tracersInContext.Store(true)
	return context.WithValue(ctx, tracerKey{}, t)
}

// hinted is set once the log was told that nobody has set telemetry up. The
// program's own logger is asked, because without a set-up there is no other.
var hinted atomic.Bool

// ambientTracer is for a process that was never set up, or was shut down: what the
// application installed, if anything.
func ambientTracer(scope string) trace.Tracer {
	if !hinted.Load() && hinted.CompareAndSwap(false, true) && globals.IsDefault(otel.GetTracerProvider()) {
		slog.Debug("lens: spans are started and telemetry is not set up, so they are not recorded; call lens.SetupTelemetry first")
	}
	return otel.GetTracerProvider().Tracer(scope)
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
		text := panicText(r)
		if !alreadyRecorded(r) {
			addException(span, attribute.String("exception.type", reflect.TypeOf(r).String()),
				attribute.String("exception.message", text),
				attribute.String("exception.stacktrace", string(debug.Stack())))
		}
		span.SetStatus(codes.Error, text)
		span.End()
		panic(r)
	}
	if err != nil && *err != nil && !canceled(span, *err) {
		text := panicText(*err)
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

// panicText is the text of any value, also of one whose own method panics.
func panicText(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("<%T whose text cannot be made>", v)
		}
	}()
	if err, ok := v.(error); ok {
		return err.Error()
	}
	return fmt.Sprint(v)
}

// recent holds the panics that were recorded last, by identity. Together with
// the stack it tells whether a span further in has recorded this one.
var recent struct {
	sync.Mutex
	ids  [64][2]uintptr
	next int
}

// alreadyRecorded reports whether the panic came through another End on this
// goroutine, and remembers it when not. A panic that goes on is raised on top
// of the frames of the inner End, so that frame is still on the stack; the
// identity tells it from another panic in a deferred function.
func alreadyRecorded(r any) bool {
	id := *(*[2]uintptr)(unsafe.Pointer(&r))
	recent.Lock()
	known := false
	for _, seen := range recent.ids {
		known = known || seen == id
	}
	if !known {
		recent.ids[recent.next%len(recent.ids)] = id
		recent.next++
	}
	recent.Unlock()
	return known && innerEndOnStack()
}

func innerEndOnStack() bool { return framesOf("github.com/nemo-lens/lens.End", 2) > 1 }

// framesOf counts the frames of a function on the stack, up to enough.
func framesOf(function string, enough int) (count int) {
	pcs := make([]uintptr, 256)
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs)
		frames := runtime.CallersFrames(pcs[:n])
		for n > 0 {
			f, more := frames.Next()
			if f.Function == function {
				count++
			}
			if !more {
				break
			}
		}
		if n < len(pcs) || count >= enough {
			return count
		}
	}
}
