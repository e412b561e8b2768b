package record

import (
	"context"
	rt "runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// Tracer starts the spans of one scope.
type Tracer struct {
	embedded.Tracer
	provider *Provider
	scope    instrumentation.Scope
	origin   origin // of spans without a group

	recent  [32]atomic.Pointer[origin] // by group, where they were looked up last
	mu      sync.Mutex
	origins map[string]*origin
}

var _ trace.Tracer = (*Tracer)(nil)

// options are those of a start that most starts do not have.
type options struct {
	start   time.Time
	newRoot bool
	unasked bool // the context is not to be asked for anything
}

// Start starts a span as the API has it.
func (t *Tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.StartGroup(ctx, "", name, opts...)
}

// StartGroup is Start for a span of a group.
func (t *Tracer) StartGroup(ctx context.Context, group, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if len(opts) == 0 {
		return t.begin(ctx, group, name, trace.SpanKindUnspecified, nil, nil, options{})
	}
	c := trace.NewSpanStartConfig(opts...)
	return t.begin(ctx, group, name, c.SpanKind(), c.Attributes(), c.Links(), options{start: c.Timestamp(), newRoot: c.NewRoot()})
}

// StartUnasked is StartGroup for a context that was found not to come to an end when it
// is asked, which counts as a fault: the span has no parent.
func (t *Tracer) StartUnasked(ctx context.Context, group, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.provider.endless(ctx)
	c := trace.NewSpanStartConfig(opts...)
	return t.begin(ctx, group, name, c.SpanKind(), c.Attributes(), c.Links(), options{start: c.Timestamp(), newRoot: true, unasked: true})
}

// StartSpan is StartGroup without options. It does not keep attrs, which may be
// on the caller's stack. The span is a [Span] if it records.
func (t *Tracer) StartSpan(ctx context.Context, group, name string, kind trace.SpanKind, attrs []attribute.KeyValue) (context.Context, trace.Span) {
	return t.begin(ctx, group, name, kind, attrs, nil, options{})
}

func (t *Tracer) begin(ctx context.Context, group, name string, kind trace.SpanKind, attrs []attribute.KeyValue, links []trace.Link, opts options) (context.Context, trace.Span) {
	p := t.provider
	if ctx == nil {
		ctx = context.Background()
	}
	var from parent
	askable := !opts.unasked && p.parentOf(ctx, &from)
	if from.local != nil {
		from.local.addChild()
	}
	// What the application's own code is shown.
	shown := ctx
	if !askable {
		shown = context.Background()
	}
	if opts.newRoot {
		from = parent{}
		shown = trace.ContextWithSpanContext(shown, trace.SpanContext{})
	}
	traceID, spanID := p.newIDs(shown, from.traceID)

	var scoped []attribute.KeyValue
	if p.scoped != nil && askable {
		scoped = p.scopedOf(ctx)
	}
	var d decision
	if sample, ok := p.byRule(&from); ok {
		d.record, d.sample = sample, sample
	} else {
		// Copies, because samplers may keep them.
		d = p.askSampler(shown, &from, sdktrace.SamplingParameters{
			TraceID: traceID, Name: name, Kind: kind, Attributes: with(attrs, scoped), Links: slices.Clone(links),
		})
	}
	flags := from.flags &^ trace.FlagsSampled
	if d.sample {
		flags |= trace.FlagsSampled
	}
	if !d.record {
		return p.pass(ctx, &from, traceID, spanID, flags, &d)
	}

	s := newSpan(len(attrs) + len(scoped) + len(d.attrs))
	s.origin = t.originOf(group)
	s.traceID, s.spanID, s.flags = traceID, spanID, flags
	s.name = name
	s.bits = bits(trace.ValidateSpanKind(kind))
	s.descend(&from, &d)
	if opts.start.IsZero() {
		s.start, s.tick = p.times()
	} else {
		s.setStart(opts.start)
	}
	for i := range links {
		s.addLink(&links[i])
	}
	if len(d.attrs) > 0 {
		s.set(d.attrs)
	}
	if len(attrs) > 0 && !s.setFirst(attrs) {
		s.set(attrs)
	}
	for i := range scoped {
		if s.find(scoped[i].Key) < 0 {
			s.set(scoped[i : i+1])
		}
	}

	started := withSpan(ctx, s)
	if p.watcher != nil {
		p.opened(s, name) // before anybody can end it
	}
	p.open.enter(s)
	if ps := p.processors.Load(); ps != nil {
		ps.onStart(ctx, s)
	}
	if rt.IsEnabled() {
		started = s.startTask(started)
	}
	return started, s
}

// originOf takes as long for many groups as for few: names are constants, so that
// their addresses tell them apart.
func (t *Tracer) originOf(group string) *origin {
	if group == "" {
		return &t.origin
	}
	at := &t.recent[uint32(uintptr(unsafe.Pointer(unsafe.StringData(group)))+uintptr(len(group)))*0x9e3779b9>>27]
	o := at.Load()
	if o == nil || o.group != group {
		o = t.makeOrigin(group)
		at.Store(o)
	}
	return o
}

// maxOrigins bounds what is kept for a caller that makes up names of groups.
const maxOrigins = 4096

func (t *Tracer) makeOrigin(group string) *origin {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.origins[group]
	if o == nil {
		if t.origins == nil {
			t.origins = make(map[string]*origin)
		}
		o = &origin{tracer: t, group: group}
		if len(t.origins) < maxOrigins {
			t.origins[group] = o
		}
	}
	return o
}

// with returns a copy of attrs, and of those scoped ones whose keys it has not.
func with(attrs, scoped []attribute.KeyValue) []attribute.KeyValue {
	all := slices.Clone(attrs)
	for _, kv := range scoped {
		if !slices.ContainsFunc(attrs, func(have attribute.KeyValue) bool { return have.Key == kv.Key }) {
			all = append(all, kv)
		}
	}
	return all
}

// newSpan returns a span with room for n attributes in the same object, when
// they are not many.
func newSpan(n int) *Span {
	switch {
	case n == 0 || n > 8:
		return &Span{}
	case n <= 2:
		s := &struct {
			Span
			room [2]attribute.KeyValue
		}{}
		s.attrs = attributes{first: &s.room[0], room: 2}
		return &s.Span
	case n <= 4:
		s := &struct {
			Span
			room [4]attribute.KeyValue
		}{}
		s.attrs = attributes{first: &s.room[0], room: 4}
		return &s.Span
	}
	s := &struct {
		Span
		room [8]attribute.KeyValue
	}{}
	s.attrs = attributes{first: &s.room[0], room: 8}
	return &s.Span
}

// descend sets the parent and the trace state.
func (s *Span) descend(from *parent, d *decision) {
	state := from.state
	if d.asked {
		state = d.state
	}
	if state.Len() > 0 {
		s.extra().traceState = state
		s.bits |= hasState
	}
	if from.traceID == (trace.TraceID{}) && from.spanID == (trace.SpanID{}) && from.flags == 0 && !from.remote && from.state.Len() == 0 {
		return
	}
	s.parentID = from.spanID
	if from.remote {
		s.bits |= remoteParent
	}
	if !from.traceID.IsValid() || (d.asked && (from.state.Len() > 0 || state.Len() > 0)) {
		s.rarity().parent = from.spanContext()
		s.bits |= oddParent
		return
	}
	s.bits |= hasParent | parentSharesState
	if from.flags.IsSampled() {
		s.bits |= parentSampled
	}
}

// pass returns a span that does not record.
func (p *Provider) pass(ctx context.Context, from *parent, t trace.TraceID, id trace.SpanID, flags trace.TraceFlags, d *decision) (context.Context, trace.Span) {
	state := from.state
	if d.asked {
		state = d.state
	}
	s := &passing{Context: ctx, common: &p.common, sc: trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: t, SpanID: id, TraceFlags: flags, TraceState: state,
	})}
	if spanKey == nil {
		return trace.ContextWithSpan(ctx, s), s
	}
	return s, s
}

// startTask makes the span a task of runtime/trace.
func (s *Span) startTask(ctx context.Context) context.Context {
	ctx, task := rt.NewTask(ctx, s.Name())
	if s.change() {
		s.rarity().endTask = task.End
		s.mu.Unlock()
	} else { // a processor has ended it
		task.End()
	}
	return ctx
}
