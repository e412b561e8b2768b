package lenslog

import (
	"context"
	"fmt"
	stdlog "log"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/record/asked"
)

// The keys of the attributes that [NewHandler] adds: those that the OpenTelemetry
// specification names for formats without fields for them, and the rank's.
const (
	TraceIDKey    = "trace_id"
	SpanIDKey     = "span_id"
	TraceFlagsKey = "trace_flags"
	RankKey       = "rank"
)

// Option changes what [NewHandler] adds.
type Option func(*handler)

// WithRank adds the rank of the process to every record, whether there is a span or
// not.
func WithRank(rank int) Option {
	return func(h *handler) {
		if !h.ranked {
			h.rank, h.ranked = rank, true
			h.top = h.top.WithAttrs([]slog.Attr{slog.Int(RankKey, rank)})
		}
	}
}

// WithTraceFlags adds trace_flags too: 01 when the trace is sampled, 00 otherwise.
func WithTraceFlags() Option { return func(h *handler) { h.flags = true } }

// NewHandler returns a handler that gives each record to next, with trace_id and
// span_id of the span in its context. They are at the top level, also after WithGroup.
// A record whose context has no span is passed on as it is.
//
// Wrapping twice adds nothing twice: a handler that is wrapped already gets the options
// it does not have yet, and a record or a logger with a trace_id of its own at the top
// level keeps that one.
//
// nil stands for slog.Default().Handler(). As long as nobody has called slog.SetDefault
// that one writes through package log, and would wait for itself for ever once a handler
// around it became the default; a text handler on log.Writer() takes its place.
func NewHandler(next slog.Handler, opts ...Option) slog.Handler {
	h := &handler{}
	if wrapped, ok := next.(*handler); ok {
		*h = *wrapped
	} else {
		h.top = usable(next)
	}
	for _, opt := range opts {
		if opt != nil {
			opt(h)
		}
	}
	h.next = h.top
	for _, g := range h.groups {
		h.next = h.next.WithGroup(g.name)
		if len(g.attrs) > 0 {
			h.next = h.next.WithAttrs(g.attrs)
		}
	}
	return h
}

func usable(h slog.Handler) slog.Handler {
	if h == nil {
		h = slog.Default().Handler()
	}
	if fmt.Sprintf("%T", h) == "*slog.defaultHandler" {
		return slog.NewTextHandler(stdlog.Writer(), nil)
	}
	return h
}

type handler struct {
	next slog.Handler // the application's, with all attributes and groups
	top  slog.Handler // with those before the first group
	// What came after; a record with a span is given to top with its own attributes
	// nested, as there is no way out of a group that a handler has been put into.
	groups []group

	flags  bool
	own    bool // the logger has a trace_id of its own
	ranked bool
	rank   int
}

type group struct {
	name  string
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	sc := asked.SpanContext(ctx)
	if h.own || !sc.IsValid() {
		return h.next.Handle(ctx, r)
	}
	if len(h.groups) > 0 {
		return h.top.Handle(ctx, h.add(sc, h.nested(r)))
	}
	if hasTraceID(r) {
		return h.next.Handle(ctx, r)
	}
	return h.next.Handle(ctx, h.add(sc, r.Clone()))
}

func hasTraceID(r slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == TraceIDKey
		return !found
	})
	return found
}

func (h *handler) add(sc trace.SpanContext, r slog.Record) slog.Record {
	attrs := [3]slog.Attr{slog.String(TraceIDKey, sc.TraceID().String()), slog.String(SpanIDKey, sc.SpanID().String())}
	n := 2
	if h.flags {
		attrs[2] = slog.String(TraceFlagsKey, sc.TraceFlags().String())
		n = 3
	}
	r.AddAttrs(attrs[:n]...)
	return r
}

// nested returns r with its attributes in the groups.
func (h *handler) nested(r slog.Record) slog.Record {
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for _, g := range slices.Backward(h.groups) {
		attrs = append(slices.Clip(g.attrs), attrs...)
		if len(attrs) > 0 { // a group without attributes is not shown
			attrs = []slog.Attr{{Key: g.name, Value: slog.GroupValue(attrs...)}}
		}
	}
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	out.AddAttrs(attrs...)
	return out
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	out := *h
	if len(h.groups) > 0 {
		out.next = h.next.WithAttrs(attrs)
		out.groups = slices.Clone(h.groups)
		last := &out.groups[len(out.groups)-1]
		last.attrs = append(slices.Clip(last.attrs), attrs...)
		return &out
	}
	out.own = h.own || slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == TraceIDKey })
	if h.ranked {
		// From another handler of ours around this one.
		same := slog.Int(RankKey, h.rank)
		attrs = slices.DeleteFunc(slices.Clone(attrs), same.Equal)
	}
	if len(attrs) > 0 {
		out.top = h.top.WithAttrs(attrs)
	}
	out.next = out.top
	return &out
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	out := *h
	out.next = h.next.WithGroup(name)
	out.groups = append(slices.Clip(h.groups), group{name: name})
	return &out
}
