package otlp

import (
	"encoding/binary"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/report"
)

// group is what spans have in common in a request.
type group struct {
	resource *resource.Resource
	scope    *instrumentation.Scope
	home     int // the first group with the same resource
}

func (g *group) same(s *instrumentation.Scope, r *resource.Resource) bool {
	return sameResource(g.resource, r) && (g.scope == s || g.scope.Name == s.Name && g.scope.Version == s.Version &&
		g.scope.SchemaURL == s.SchemaURL && g.scope.Attributes.Equivalent() == s.Attributes.Equivalent())
}

func sameResource(a, b *resource.Resource) bool { return a == b || a.Equivalent() == b.Equivalent() }

// spanBatch is a batch in its encoding. It can be used again after [spanBatch.reset].
type spanBatch struct {
	encoder
	log    *report.Log
	groups []group
	of     []int // for each span its group
}

// reset makes room for the next batch. What a large one needed is given back.
func (s *spanBatch) reset() {
	const keep = 8 << 20
	if cap(s.b) > keep {
		s.b = nil
	}
	s.b, s.fixed = s.b[:0], false
	clear(s.groups)
	s.groups, s.of = s.groups[:0], s.of[:0]
}

// encode writes the spans, grouped by resource and scope in the order in which these
// first appear, and returns a ResourceSpans for each resource.
func encode[S sdktrace.ReadOnlySpan](b *spanBatch, list []S) []*pb.ResourceSpans {
	b.reset()
	for _, span := range list {
		b.of = append(b.of, b.groupOf(scopeAndResource(span)))
	}
	var out []*pb.ResourceSpans
	for home := range b.groups {
		if b.groups[home].home != home {
			continue
		}
		from := len(b.b)
		encodeResource(b, list, home)
		out = append(out, encoded(b.b[from:len(b.b):len(b.b)]))
	}
	return out
}

// scopeAndResource returns the scope by a pointer, which the recorder's spans share.
func scopeAndResource(s sdktrace.ReadOnlySpan) (*instrumentation.Scope, *resource.Resource) {
	if own, ok := s.(*record.Span); ok {
		return own.Scope(), own.Resource()
	}
	scope := s.InstrumentationScope()
	return &scope, s.Resource()
}

// encoded is a message that already is in its encoding.
func encoded(b []byte) *pb.ResourceSpans {
	m := &pb.ResourceSpans{}
	m.ProtoReflect().SetUnknown(b)
	return m
}

func (s *spanBatch) groupOf(scope *instrumentation.Scope, res *resource.Resource) int {
	for i := len(s.groups) - 1; i >= 0; i-- {
		if s.groups[i].same(scope, res) {
			return i
		}
	}
	home := len(s.groups)
	for i := range s.groups {
		if sameResource(s.groups[i].resource, res) {
			home = i
			break
		}
	}
	s.groups = append(s.groups, group{res, scope, home})
	return len(s.groups) - 1
}

// encodeResource writes the fields of a ResourceSpans.
func encodeResource[S sdktrace.ReadOnlySpan](b *spanBatch, list []S, home int) {
	res := b.groups[home].resource
	if res != nil {
		at := b.open(1, 2)
		b.set(1, res.Set())
		b.close(at, 2)
	}
	for i := range b.groups {
		if b.groups[i].home == home {
			encodeScope(b, list, i)
		}
	}
	b.text(3, res.SchemaURL(), -1)
}

// encodeScope writes a ScopeSpans.
func encodeScope[S sdktrace.ReadOnlySpan](b *spanBatch, list []S, of int) {
	scope := b.groups[of].scope
	spans := b.open(2, 3)
	if *scope != (instrumentation.Scope{}) {
		at := b.open(1, 1)
		b.text(1, scope.Name, -1)
		b.text(2, scope.Version, -1)
		b.set(3, &scope.Attributes)
		b.close(at, 1)
	}
	for i, s := range list {
		if b.of[i] == of {
			b.span(s)
			b.warn(s)
		}
	}
	b.text(3, scope.SchemaURL, -1)
	b.close(spans, 3)
}

// warn says what a span has lost by now.
func (s *spanBatch) warn(span sdktrace.ReadOnlySpan) {
	if s.fixed {
		s.fixed = false
		guard.WarnRepaired(s.log, span.Name(), s.limits)
	}
	guard.WarnDropped(s.log, span)
}

// span writes a Span.
func (e *encoder) span(s sdktrace.ReadOnlySpan) {
	span := e.open(2, 2)
	if own, ok := s.(*record.Span); ok {
		// As below, with less to copy.
		traceID, spanID, parent := own.TraceID(), own.SpanID(), own.ParentSpanID()
		e.identity(&traceID, &spanID, own.TraceState(), &parent)
		e.text(5, own.Name(), e.limits.Name)
		e.varint(6, kindOf(own.SpanKind()))
		e.fixed64(7, uint64(max(0, own.StartUnixNano())))
		e.fixed64(8, uint64(max(0, own.EndUnixNano())))
		e.contents(s)
		e.flags(own.TraceFlags(), own.ParentIsRemote())
	} else {
		sc, parent := s.SpanContext(), s.Parent()
		traceID, spanID, parentID := sc.TraceID(), sc.SpanID(), parent.SpanID()
		e.identity(&traceID, &spanID, sc.TraceState(), &parentID)
		e.text(5, s.Name(), e.limits.Name)
		e.varint(6, kindOf(s.SpanKind()))
		e.fixed64(7, nanoseconds(s.StartTime()))
		e.fixed64(8, nanoseconds(s.EndTime()))
		e.contents(s)
		e.flags(sc.TraceFlags(), parent.IsRemote())
	}
	e.close(span, 2)
}

func (e *encoder) identity(traceID *trace.TraceID, spanID *trace.SpanID, state trace.TraceState, parent *trace.SpanID) {
	e.bytes(1, traceID[:])
	e.bytes(2, spanID[:])
	e.traceState(3, state)
	if parent.IsValid() {
		e.bytes(4, parent[:])
	}
}

// contents writes what a span holds, and the tag of its flags.
func (e *encoder) contents(s sdktrace.ReadOnlySpan) {
	e.attributes(9, s.Attributes(), e.limits.Value)
	e.count(10, s.DroppedAttributes())
	events := s.Events()
	for i := range events {
		e.event(11, &events[i])
	}
	e.count(12, s.DroppedEvents())
	links := s.Links()
	for i := range links {
		e.link(13, &links[i])
	}
	e.count(14, s.DroppedLinks())
	e.status(15, s.Status())
	e.b = protowire.AppendTag(e.b, 16, protowire.Fixed32Type) // of two bytes
}

func (e *encoder) event(number int, v *sdktrace.Event) {
	at := e.open(number, 1)
	e.fixed64(1, nanoseconds(v.Time))
	e.text(2, v.Name, e.limits.Name)
	e.attributes(3, v.Attributes, e.limits.Value)
	e.count(4, v.DroppedAttributeCount)
	e.close(at, 1)
}

func (e *encoder) link(number int, l *sdktrace.Link) {
	at := e.open(number, 1)
	traceID, spanID := l.SpanContext.TraceID(), l.SpanContext.SpanID()
	e.bytes(1, traceID[:])
	e.bytes(2, spanID[:])
	e.traceState(3, l.SpanContext.TraceState())
	e.attributes(4, l.Attributes, e.limits.Value)
	e.count(5, l.DroppedAttributeCount)
	e.b = append(e.b, tag(6, fixed32Type))
	e.flags(l.SpanContext.TraceFlags(), l.SpanContext.IsRemote())
	e.close(at, 1)
}

// traceState writes what the API accepts only as printable ASCII.
func (e *encoder) traceState(number int, s trace.TraceState) {
	if s.Len() > 0 {
		e.text(number, s.String(), -1)
	}
}

// flags writes the value of a fixed32: the W3C flags, that it is known whether the
// other span is of another process, and whether it is.
func (e *encoder) flags(f trace.TraceFlags, remote bool) {
	flags := uint32(f) | uint32(pb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if remote {
		flags |= uint32(pb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	e.b = binary.LittleEndian.AppendUint32(e.b, flags)
}

// status writes a Status, also one that is unset.
func (e *encoder) status(number int, s sdktrace.Status) {
	at := e.open(number, 1)
	e.text(2, s.Description, e.limits.Value)
	switch s.Code {
	case codes.Ok:
		e.varint(3, uint64(pb.Status_STATUS_CODE_OK))
	case codes.Error:
		e.varint(3, uint64(pb.Status_STATUS_CODE_ERROR))
	}
	e.close(at, 1)
}

// kindOf has the numbers of the API, which are OTLP's.
func kindOf(k trace.SpanKind) uint64 {
	if k < trace.SpanKindInternal || k > trace.SpanKindConsumer {
		return 0
	}
	return uint64(k)
}
