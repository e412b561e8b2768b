package guard

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/report"
)

// Options of [New]. The zero value means the defaults.
type Options struct {
	// TextLimit is the most characters an attribute value of a span, an event or
	// a link, or the status text, may have; of bytes it keeps as many. Names of
	// spans and events may always have 4096. 0 means DefaultTextLimit, a negative
	// number no limit. The SDK's own limit for span attributes, if lower, has
	// already been applied.
	TextLimit int

	// Log is told, at its rate, about repaired text, about what the SDK's span
	// limits dropped, and about panics. nil is silence.
	Log *report.Log
}

// New returns exp with the defences of this package, for an exporter that has none of
// its own. The result is safe for concurrent use if exp is.
//
// ExportSpans sends one or several requests, one after the other; ctx bounds them
// all, and when it is done the spans not yet sent are lost. It returns nil when
// everything was delivered and a *[outcome.LossError] otherwise, or when the receiver
// added a warning to a full success (LostSpans is then 0).
//
// A nil exp, also one with a type, is accepted: its spans are lost and counted.
func New(exp sdktrace.SpanExporter, opts Options) sdktrace.SpanExporter {
	return &exporter{next: exp, log: opts.Log, limits: LimitsOf(opts.TextLimit)}
}

type exporter struct {
	next   sdktrace.SpanExporter
	log    *report.Log
	limits TextLimits
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if slices.Contains(spans, nil) {
		spans = slices.DeleteFunc(slices.Clone(spans), func(s sdktrace.ReadOnlySpan) bool { return s == nil })
	}
	whole := &outcome.LossError{What: "spans", Of: uint64(len(spans))}
	spans, unread := e.repaired(spans)
	whole.Failed = whole.Of - uint64(len(spans))
	err := Split(ctx, "spans", len(spans), func(from, to int) error { return e.call(ctx, spans[from:to:to]) })
	if unread == nil && err == nil {
		return nil
	}
	whole.Failed += uint64(outcome.Lost(err, len(spans)))
	whole.Cause = outcome.Both(unread, err)
	return whole
}

// repaired returns the spans, with copies in the place of those that need repair. The
// caller's slice stays as it is.
func (e *exporter) repaired(spans []sdktrace.ReadOnlySpan) (out []sdktrace.ReadOnlySpan, unread error) {
	var group cleaned
	out = spans
	owned := false
	for i, s := range spans {
		fixed, err := e.fix(s, &group)
		if !owned && (err != nil || fixed != nil) {
			out, owned = append(make([]sdktrace.ReadOnlySpan, 0, len(spans)), spans[:i]...), true
		}
		switch {
		case err != nil:
			unread = err
		case fixed != nil:
			out = append(out, fixed)
		case owned:
			out = append(out, s)
		}
	}
	return out, unread
}

// fix returns a copy of s, or nil when s needs no repair. A span is the SDK's or the application's:
// reading one that is not whole can panic, which costs that one.
func (e *exporter) fix(s sdktrace.ReadOnlySpan, group *cleaned) (fixed *span, err error) {
	if own, ok := s.(*record.Span); ok && own != nil && e.limits.isPlain(own, group) {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = e.panicked("ExportSpans", p)
		}
	}()
	group.of(s)
	WarnDropped(e.log, s)
	if fixed = e.limits.fix(s, group); fixed != nil {
		WarnRepaired(e.log, fixed.name, e.limits)
	}
	return fixed, nil
}

// Shutdown implements sdktrace.SpanExporter. A panic of the exporter is an error.
func (e *exporter) Shutdown(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = e.panicked("Shutdown", p)
		}
	}()
	if e.next == nil {
		return nil
	}
	return report.Scrubbed(e.next.Shutdown(ctx))
}

// MarshalLog is what the SDK's debug log shows of the exporter, instead of its
// fields.
func (e *exporter) MarshalLog() any {
	return struct{ Type, Exporter string }{"lens/guard", whatIs(e.next)}
}

func (e *exporter) panicked(call string, value any) error {
	err := &panicError{call: call, exporter: whatIs(e.next), value: value}
	e.log.Warn("exporter panic", err.Error(), "stack", string(debug.Stack()))
	return err
}

// call is one request.
func (e *exporter) call(ctx context.Context, spans []sdktrace.ReadOnlySpan) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = e.panicked("ExportSpans", p)
		}
	}()
	if e.next == nil {
		return fmt.Errorf("lens: the span exporter is nil: nothing can be exported")
	}
	return e.next.ExportSpans(ctx, spans)
}
