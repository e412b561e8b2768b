package record

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// passing is a span that does not record and passes its identity on, and the
// context that carries it, in one object.
type passing struct {
	context.Context
	*common
	sc trace.SpanContext
}

// common is what the passing spans of a provider share.
type common struct {
	embedded.Span
	provider *Provider
}

var _ trace.Span = (*passing)(nil)

func (s *passing) Value(key any) any {
	if key == spanKey {
		return s
	}
	return s.Context.Value(key)
}

func (s *passing) String() string { return fmt.Sprint(s.Context) + ".WithSpan" }

func (s *passing) SpanContext() trace.SpanContext        { return s.sc }
func (s *passing) TracerProvider() trace.TracerProvider  { return s.provider }
func (*passing) IsRecording() bool                       { return false }
func (*passing) End(...trace.SpanEndOption)              {}
func (*passing) AddEvent(string, ...trace.EventOption)   {}
func (*passing) AddLink(trace.Link)                      {}
func (*passing) RecordError(error, ...trace.EventOption) {}
func (*passing) SetStatus(codes.Code, string)            {}
func (*passing) SetName(string)                          {}
func (*passing) SetAttributes(...attribute.KeyValue)     {}
