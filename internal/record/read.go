package record

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// What is set at the start is read without a lock. The pointer more is among it
// when bits says that the start put something there.

// lockOpen locks a span that is open, because it can change, and reports whether
// it did.
func (s *Span) lockOpen() bool {
	if s.ended() {
		return false
	}
	s.mu.Lock()
	return true
}

// TraceID returns the id of the trace.
func (s *Span) TraceID() trace.TraceID { return s.traceID }

// SpanID returns the id of the span.
func (s *Span) SpanID() trace.SpanID { return s.spanID }

// ParentSpanID returns the id of the parent, all zero for a root span.
func (s *Span) ParentSpanID() trace.SpanID { return s.parentID }

// TraceFlags returns the flags of the span.
func (s *Span) TraceFlags() trace.TraceFlags { return s.flags }

// ParentIsRemote reports whether the parent is a span of another process.
func (s *Span) ParentIsRemote() bool { return s.bits&remoteParent != 0 }

// Group returns the group that the span was started with.
func (s *Span) Group() string { return s.group }

// TraceState returns the trace state, which never changes.
func (s *Span) TraceState() trace.TraceState {
	if s.bits&hasState == 0 {
		return trace.TraceState{}
	}
	return s.more.traceState
}

// SpanContext returns the identity of the span.
func (s *Span) SpanContext() trace.SpanContext {
	if s == nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: s.traceID, SpanID: s.spanID, TraceFlags: s.flags, TraceState: s.TraceState(),
	})
}

// Parent returns the identity of the parent, invalid for a root span.
func (s *Span) Parent() trace.SpanContext {
	if s.bits&oddParent != 0 {
		return s.more.parent
	}
	if s.bits&hasParent == 0 {
		return trace.SpanContext{}
	}
	parent := trace.SpanContextConfig{
		TraceID: s.traceID, SpanID: s.parentID, TraceFlags: s.flags &^ trace.FlagsSampled, Remote: s.bits&remoteParent != 0,
	}
	if s.bits&parentSampled != 0 {
		parent.TraceFlags |= trace.FlagsSampled
	}
	if s.bits&parentSharesState != 0 {
		parent.TraceState = s.TraceState()
	}
	return trace.NewSpanContext(parent)
}

// Name returns the name.
func (s *Span) Name() string {
	if s.lockOpen() {
		defer s.mu.Unlock()
	}
	return s.name
}

// SpanKind returns the kind, which is never Unspecified.
func (s *Span) SpanKind() trace.SpanKind { return trace.SpanKind(s.bits & kindBits) }

// StartUnixNano returns the start in nanoseconds since 1970.
func (s *Span) StartUnixNano() int64 { return s.start }

// EndUnixNano returns the end in nanoseconds since 1970; 0 for an open span.
func (s *Span) EndUnixNano() int64 {
	if !s.ended() {
		return 0
	}
	return s.tick
}

// StartTime returns the start, as wall clock time.
func (s *Span) StartTime() time.Time {
	if s.bits&oddStart != 0 {
		return s.more.start
	}
	return at(s.start, s.bits&inUTC != 0)
}

// EndTime returns the end, as wall clock time; zero for an open span.
func (s *Span) EndTime() time.Time {
	if !s.ended() {
		return time.Time{}
	}
	if s.more != nil && s.more.rare != nil && !s.more.end.IsZero() {
		return s.more.end
	}
	return at(s.tick, s.bits&inUTC != 0)
}

func at(nano int64, utc bool) time.Time {
	t := time.Unix(0, nano)
	if utc {
		return t.UTC()
	}
	return t
}

// Attributes returns the attributes, no key twice, in the order in which the keys
// were first set: a copy while the span is open, and afterwards the span's own,
// which must not be changed.
func (s *Span) Attributes() []attribute.KeyValue {
	if s.ended() {
		return s.attrs.all()
	}
	if s.lockOpen() {
		defer s.mu.Unlock()
	}
	return slices.Clone(s.attrs.all())
}

// StartAttributes is Attributes without a copy, for a [Watcher] in SpanOpened, when
// nobody else has the span. What it returns must not be kept.
func (s *Span) StartAttributes() []attribute.KeyValue { return s.attrs.all() }

// Events returns the events as Attributes returns the attributes.
func (s *Span) Events() []sdktrace.Event {
	if s.lockOpen() {
		defer s.mu.Unlock()
	}
	switch {
	case s.more == nil:
		return nil
	case s.ended():
		return s.more.events
	}
	return slices.Clone(s.more.events)
}

// Links returns the links as Attributes returns the attributes.
func (s *Span) Links() []sdktrace.Link {
	if s.lockOpen() {
		defer s.mu.Unlock()
	}
	switch {
	case s.more == nil:
		return nil
	case s.ended():
		return s.more.links
	}
	return slices.Clone(s.more.links)
}

// Status returns the status.
func (s *Span) Status() sdktrace.Status {
	if s.lockOpen() {
		defer s.mu.Unlock()
	}
	status := sdktrace.Status{Code: codes.Code(s.code)}
	if s.more != nil {
		status.Description = s.more.description
	}
	return status
}

// DroppedAttributes returns the number of attributes that had no key or were
// over the limit.
func (s *Span) DroppedAttributes() int {
	return s.dropped(func(m *more) int { return m.droppedAttributes })
}

// DroppedEvents returns the number of events that were over the limit.
func (s *Span) DroppedEvents() int { return s.dropped(func(m *more) int { return m.droppedEvents }) }

// DroppedLinks returns the number of links that were over the limit.
func (s *Span) DroppedLinks() int { return s.dropped(func(m *more) int { return m.droppedLinks }) }

func (s *Span) dropped(of func(*more) int) int {
	if s.lockOpen() {
		defer s.mu.Unlock()
	}
	if s.more == nil {
		return 0
	}
	return of(s.more)
}

// ChildSpanCount returns the number of children that were started in this
// process before the span ended.
func (s *Span) ChildSpanCount() int { return int(s.state.Load() &^ endedBit) }

// InstrumentationScope returns the scope of the tracer.
func (s *Span) InstrumentationScope() instrumentation.Scope { return s.tracer.scope }

// InstrumentationLibrary is the scope under its old name.
//
//lint:ignore SA1019 The interface has it.
func (s *Span) InstrumentationLibrary() instrumentation.Library { return s.tracer.scope }

// Scope returns the scope without a copy: one pointer a scope and provider.
func (s *Span) Scope() *instrumentation.Scope { return &s.tracer.scope }

// Resource returns the resource of the provider.
func (s *Span) Resource() *resource.Resource { return s.tracer.provider.resource }

// IsPlain reports whether an ended span has nothing but a name, attributes and a
// status without a description, and has lost nothing to the limits.
func (s *Span) IsPlain() bool { return s.ended() && s.more == nil }

// ReadOnly is the span as the SDK's exporters and processors take it.
func (s *Span) ReadOnly() sdktrace.ReadOnlySpan { return s }
