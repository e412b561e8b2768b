package otlptest

import (
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Span is one received span.
type Span struct {
	Name         string
	TraceID      trace.TraceID
	SpanID       trace.SpanID
	ParentSpanID trace.SpanID // zero for a root
	Kind         trace.SpanKind
	Start, End   time.Time
	Attributes   map[string]any // see the types at [LogRecord].Body
	Events       []Event
	Links        []Link

	StatusCode    codes.Code
	StatusMessage string
	Flags         uint32 // the W3C flags in the low byte, then whether the parent was remote
	TraceState    string

	DroppedAttributes, DroppedEvents, DroppedLinks uint32

	Scope             Scope
	Resource          map[string]any
	ResourceSchemaURL string

	Request int           // index in [Server.Requests], or -1 after a Reset meanwhile
	Proto   *tracepb.Span // as received; not to be changed
}

// Event is one event of a span.
type Event struct {
	Name              string
	Time              time.Time
	Attributes        map[string]any
	DroppedAttributes uint32
}

// Link is one link of a span.
type Link struct {
	TraceID           trace.TraceID
	SpanID            trace.SpanID
	TraceState        string
	Flags             uint32
	Attributes        map[string]any
	DroppedAttributes uint32
}

// Duration is the time from start to end.
func (s Span) Duration() time.Duration { return s.End.Sub(s.Start) }

// Event returns the first event of that name.
func (s Span) Event(name string) (Event, bool) {
	for _, e := range s.Events {
		if e.Name == name {
			return e, true
		}
	}
	return Event{}, false
}

// Spans returns the accepted spans in the order in which they came.
func (s *Server) Spans() []Span {
	var out []Span
	for _, k := range keptOf[*coltracepb.ExportTraceServiceRequest](s) {
		for _, span := range Flatten(k.msg.GetResourceSpans())[:k.items] {
			span.Request = k.request
			out = append(out, span)
		}
	}
	return out
}

// Flatten returns all spans of raw messages that came some other way.
func Flatten(raw []*tracepb.ResourceSpans) []Span {
	var out []Span
	for _, r := range raw {
		res := attributes(r.GetResource().GetAttributes())
		for _, sc := range r.GetScopeSpans() {
			scope := newScope(sc.GetScope(), sc.GetSchemaUrl())
			for _, p := range sc.GetSpans() {
				span := newSpan(p)
				span.Scope, span.Resource, span.ResourceSchemaURL = scope, res, r.GetSchemaUrl()
				out = append(out, span)
			}
		}
	}
	return out
}

func newSpan(p *tracepb.Span) Span {
	s := Span{
		Name:              p.GetName(),
		TraceID:           traceID(p.GetTraceId()),
		SpanID:            spanID(p.GetSpanId()),
		ParentSpanID:      spanID(p.GetParentSpanId()),
		Kind:              trace.SpanKind(p.GetKind()), // the numbers are the same
		Start:             instant(p.GetStartTimeUnixNano()),
		End:               instant(p.GetEndTimeUnixNano()),
		Attributes:        attributes(p.GetAttributes()),
		StatusMessage:     p.GetStatus().GetMessage(),
		Flags:             p.GetFlags(),
		TraceState:        p.GetTraceState(),
		DroppedAttributes: p.GetDroppedAttributesCount(),
		DroppedEvents:     p.GetDroppedEventsCount(),
		DroppedLinks:      p.GetDroppedLinksCount(),
		Proto:             p,
	}
	switch p.GetStatus().GetCode() { // the numbers are not the same
	case tracepb.Status_STATUS_CODE_OK:
		s.StatusCode = codes.Ok
	case tracepb.Status_STATUS_CODE_ERROR:
		s.StatusCode = codes.Error
	}
	for _, e := range p.GetEvents() {
		s.Events = append(s.Events, Event{
			Name: e.GetName(), Time: instant(e.GetTimeUnixNano()),
			Attributes: attributes(e.GetAttributes()), DroppedAttributes: e.GetDroppedAttributesCount(),
		})
	}
	for _, l := range p.GetLinks() {
		s.Links = append(s.Links, Link{
			TraceID: traceID(l.GetTraceId()), SpanID: spanID(l.GetSpanId()),
			TraceState: l.GetTraceState(), Flags: l.GetFlags(),
			Attributes: attributes(l.GetAttributes()), DroppedAttributes: l.GetDroppedAttributesCount(),
		})
	}
	return s
}
