package guard

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/errlog"
	"github.com/nemo-lens/lens/internal/outcome"
)

const (
	// DefaultRequestBytes leaves a margin below the 4 MiB that a gRPC server
	// accepts if it was not told otherwise. The limit counts before compression.
	DefaultRequestBytes = 4<<20 - 32<<10

	// DefaultTextLimit is in characters.
	DefaultTextLimit = 64 << 10

	// minNameLimit keeps a small limit, meant for values, from cutting names.
	minNameLimit = 4096
)

// Options are the limits. The zero value means the defaults.
type Options struct {
	// RequestBytes is the most one request may have, before compression. 0 means
	// DefaultRequestBytes, a negative number no limit: then only what the server
	// refuses is split.
	RequestBytes int

	// TextLimit is the most characters an attribute value of a span, an event or
	// a link, or the status text, may have; of bytes it keeps as many. Names of
	// spans and events may always have 4096. 0 means DefaultTextLimit, a negative
	// number no limit. The SDK's own limit for span attributes, if lower, has
	// already been applied.
	TextLimit int

	// Log is told, at its rate, about repaired text, about what the SDK's span
	// limits dropped, and about panics. nil is silence.
	Log *errlog.Log
}

// New returns exp with the defences of this package. The result is safe for
// concurrent use if exp is.
//
// ExportSpans sends one or several requests, one after the other; ctx bounds them
// all, and when it is done the spans not yet sent are lost. It returns nil when
// everything was delivered and a *[outcome.LossError] otherwise, or when the receiver
// added a warning to a full success (LostSpans is then 0).
//
// A nil exp, also one with a type, is accepted: its spans are lost and counted.
func New(exp sdktrace.SpanExporter, opts Options) sdktrace.SpanExporter {
	e := &exporter{next: exp, log: opts.Log, bytes: opts.RequestBytes, limits: limits{value: opts.TextLimit}}
	if e.bytes == 0 {
		e.bytes = DefaultRequestBytes
	}
	if e.limits.value == 0 {
		e.limits.value = DefaultTextLimit
	}
	if e.limits.name = -1; e.limits.value >= 0 {
		e.limits.name = max(e.limits.value, minNameLimit)
	}
	return e
}

type exporter struct {
	next   sdktrace.SpanExporter
	log    *errlog.Log
	bytes  int
	limits limits
	sets   sets
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) (err error) {
	if slices.Contains(spans, nil) {
		spans = slices.DeleteFunc(slices.Clone(spans), func(s sdktrace.ReadOnlySpan) bool { return s == nil })
	}
	if len(spans) == 0 {
		return nil
	}
	b := batch{exporter: e, ctx: ctx, total: len(spans)}
	defer func() {
		// The spans themselves are the SDK's or the program's: reading one can
		// panic too. The rest of the batch is then unsent.
		if p := recover(); p != nil {
			b.fail(len(spans)-b.done, e.panicked("ExportSpans", p))
		}
		err = b.result()
	}()
	b.export(spans)
	return nil
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
	return errlog.Scrubbed(e.next.Shutdown(ctx))
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

// batch is the state of one ExportSpans.
type batch struct {
	*exporter
	ctx   context.Context
	total int
	done  int // spans sent or given up
	lost  int
	why   outcome.Reasons
	said  bool // there is something to return
}

// group is what a request holds once for all spans with the same.
type group struct {
	resource *resource.Resource
	scope    instrumentation.Scope
}

func (a *group) same(b *group) bool {
	return a.resource == b.resource && a.scope.Name == b.scope.Name && a.scope.Version == b.scope.Version &&
		a.scope.SchemaURL == b.scope.SchemaURL && a.scope.Attributes.Equivalent() == b.scope.Attributes.Equivalent()
}

func (e *exporter) measure(g *group) (size int, dirty bool) {
	z := sizer{limits: e.limits}
	size = z.resource(&e.sets, g.resource) + z.scope(&e.sets, &g.scope)
	return size, z.dirty
}

// export cleans, measures and sends, in one pass.
func (b *batch) export(spans []sdktrace.ReadOnlySpan) {
	var seen [8]group // of the current request; further ones count each time
	var last, clean group
	groups, start, size, groupSize := 0, 0, 0, 0
	groupDirty, owned := false, false

	for i, s := range spans {
		g := group{s.Resource(), s.InstrumentationScope()}
		if i == 0 || !g.same(&last) {
			last, clean = g, g
			if groupSize, groupDirty = b.measure(&g); groupDirty {
				clean = group{CleanResource(g.resource), cleanScope(g.scope)}
				groupSize, _ = b.measure(&clean)
			}
		}
		z := sizer{limits: b.limits, dirty: groupDirty}
		n := z.span(s)
		if z.dirty {
			if !owned {
				spans, owned = slices.Clone(spans), true
			}
			fixed := b.limits.fix(s, &clean)
			spans[i] = fixed
			b.log.Warn("text repaired", "lens: text in spans that is not UTF-8 was repaired, or was longer than the limit and cut",
				"span", fixed.name, "text_limit", b.limits.value)
			z = sizer{limits: b.limits}
			n = z.span(fixed)
		}
		if s.DroppedAttributes() > 0 || s.DroppedEvents() > 0 || s.DroppedLinks() > 0 {
			b.log.Warn("span limits", "lens: a span lost attributes, events or links to the span limits: raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, OTEL_SPAN_EVENT_COUNT_LIMIT or OTEL_SPAN_LINK_COUNT_LIMIT",
				"span", s.Name(), "attributes", s.DroppedAttributes(), "events", s.DroppedEvents(), "links", s.DroppedLinks())
		}
		if b.bytes < 0 {
			continue
		}

		once := groupSize
		for j := groups - 1; j >= 0; j-- {
			if seen[j].same(&last) {
				once = 0
				break
			}
		}
		if size+once+n > b.bytes {
			b.send(spans[start:i:i])
			groups, start, size, once = 0, i, 0, groupSize
			if once+n > b.bytes {
				b.fail(1, &oversizeError{strings.Clone(cutText(spans[i].Name(), 64)), once + n, b.bytes})
				b.done++
				start = i + 1
				continue
			}
		}
		size += once + n
		if once > 0 && groups < len(seen) {
			seen[groups] = last
			groups++
		}
	}
	b.send(spans[start:])
}

// send makes a request of spans, and two of the halves when the server finds it
// too large.
func (b *batch) send(spans []sdktrace.ReadOnlySpan) {
	if len(spans) == 0 {
		return
	}
	if b.done > 0 && b.ctx.Err() != nil {
		b.fail(len(spans), endOf(b.ctx))
		b.done += len(spans)
		return
	}
	err := b.call(b.ctx, spans)
	if len(spans) > 1 && tooLarge(err) {
		half := len(spans) / 2
		b.send(spans[:half:half])
		b.send(spans[half:])
		return
	}
	b.done += len(spans)
	if err != nil {
		b.fail(outcome.Lost(err, len(spans)), err)
	}
}

func (b *batch) fail(lost int, cause error) {
	b.lost += lost
	b.why.Add(cause)
	b.said = true
}

func (b *batch) result() error {
	if !b.said {
		return nil
	}
	return &outcome.LossError{What: "spans", Failed: uint64(b.lost), Of: uint64(b.total), Cause: b.why.Err()}
}
