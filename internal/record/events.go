package record

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Names of the semantic conventions for exceptions.
const (
	exceptionEvent   = "exception"
	exceptionType    = attribute.Key("exception.type")
	exceptionMessage = attribute.Key("exception.message")
	exceptionStack   = attribute.Key("exception.stacktrace")
)

// AddEvent adds an event. Of the events over the limit the oldest are dropped.
func (s *Span) AddEvent(name string, opts ...trace.EventOption) {
	if s == nil || s.ended() {
		return
	}
	c := trace.NewEventConfig(opts...) // its attributes are a copy
	s.AddEventAt(name, c.Timestamp(), c.Attributes())
}

// AddEventAt is AddEvent without options. A zero time is now. The span keeps attrs.
func (s *Span) AddEventAt(name string, at time.Time, attrs []attribute.KeyValue) {
	if !s.change() {
		return
	}
	if at.IsZero() {
		at = s.tracer.provider.now()
	}
	s.addEvent(name, at, attrs)
	s.mu.Unlock()
}

// addEvent needs s.mu held.
func (s *Span) addEvent(name string, at time.Time, attrs []attribute.KeyValue) {
	l, m := &s.tracer.provider.limits, s.withEvent()
	e := sdktrace.Event{Name: name, Time: at}
	e.Attributes, e.DroppedAttributeCount = within(l.fitAll(attrs), l.AttributePerEventCountLimit)
	m.events = add(m.events, e, l.EventCountLimit, &m.droppedEvents)
}

// AddLink adds a link, unless it says nothing. Of the links over the limit the
// oldest are dropped.
func (s *Span) AddLink(link trace.Link) {
	if !s.change() {
		return
	}
	s.addLink(&link)
	s.mu.Unlock()
}

// addLink needs s.mu held, or a new s.
func (s *Span) addLink(link *trace.Link) {
	if !link.SpanContext.IsValid() && len(link.Attributes) == 0 && link.SpanContext.TraceState().Len() == 0 {
		return
	}
	l, m := &s.tracer.provider.limits, s.withLink()
	to := sdktrace.Link{SpanContext: link.SpanContext}
	to.Attributes, to.DroppedAttributeCount = within(l.fitAll(link.Attributes), l.AttributePerLinkCountLimit)
	m.links = add(m.links, to, l.LinkCountLimit, &m.droppedLinks)
}

// within returns the first limit attributes, and how many are left out.
func within(attrs []attribute.KeyValue, limit int) ([]attribute.KeyValue, int) {
	switch {
	case limit == 0:
		return nil, len(attrs)
	case limit > 0 && len(attrs) > limit:
		return attrs[:limit:limit], len(attrs) - limit
	}
	return attrs, 0
}

func add[T any](all []T, one T, limit int, dropped *int) []T {
	if limit == 0 {
		*dropped++
		return all
	}
	if limit > 0 && len(all) == limit {
		copy(all, all[1:])
		all[limit-1] = one
		*dropped++
		return all
	}
	if len(all) == 1 && cap(all) == 1 {
		all = slices.Grow(all, 3) // where there are two there are often more
	}
	return append(all, one)
}

// RecordError adds the event of an exception; the status stays as it is. An error
// whose Error panics, as that of a typed nil does, is recorded with a text that
// says so.
func (s *Span) RecordError(err error, opts ...trace.EventOption) {
	if err == nil || s == nil || s.ended() {
		return
	}
	c := trace.NewEventConfig(opts...)
	attrs := append(c.Attributes(), exceptionType.String(typeName(err)), exceptionMessage.String(textOf(err)))
	if c.StackTrace() {
		attrs = append(attrs, exceptionStack.String(string(debug.Stack())))
	}
	s.AddEventAt(exceptionEvent, c.Timestamp(), attrs)
}

// typeName is the type's name with the whole path of its package, as the SDK has it.
func typeName(v any) string {
	t := reflect.TypeOf(v)
	if t.PkgPath() == "" && t.Name() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}

func textOf(v any) (text string) {
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
