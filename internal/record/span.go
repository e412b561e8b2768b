package record

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Span is a span that records. It is a trace.Span, a sdktrace.ReadOnlySpan and a
// sdktrace.ReadWriteSpan; what the SDK's interfaces keep to the SDK comes from
// the interface that origin embeds.
//
// A million may be open, so it is kept small: what few spans have is in more.
type Span struct {
	*origin
	mu sync.Mutex
	// state has the ended bit and, below it, the number of children. It is set to
	// ended with mu held, so that who holds mu and sees it unset may write.
	state atomic.Uint32
	slot  int32 // the watcher's

	traceID  trace.TraceID
	spanID   trace.SpanID
	parentID trace.SpanID

	name string

	start int64 // Unix nanoseconds
	// tick is the start on the monotonic clock, and the end in Unix nanoseconds
	// once the span has ended.
	tick int64

	attrs attributes // no key twice

	more *more

	// carrier holds the context that the span was started in, until it ends, so
	// that a queue of ended spans keeps nothing else alive.
	carrier *spanContext

	place place // in the table of open spans
	bits  bits  // set at the start
	flags trace.TraceFlags
	code  uint8
}

var _ sdktrace.ReadWriteSpan = (*Span)(nil)

const endedBit = 1 << 31

// bits has the kind in its lowest three.
type bits uint16

const kindBits bits = 7

const (
	hasParent bits = 8 << iota
	remoteParent
	parentSharesState // the parent's trace state is the span's
	oddParent         // more.parent is the parent
	parentSampled     // the only flag in which a parent can differ
	hasState          // more.traceState is the span's
	inUTC             // the start, and the end unless more.end is it
	oddStart          // more.start is the start
	wallStart         // the start was given without a reading of the monotonic clock
)

// origin is what the spans of a tracer and a group have in common.
type origin struct {
	sdktrace.ReadWriteSpan // nil; for the methods that nobody else can have
	tracer                 *Tracer
	group                  string
}

// more is what few spans have.
type more struct {
	events      []sdktrace.Event
	links       []sdktrace.Link
	description string
	traceState  trace.TraceState

	droppedAttributes, droppedEvents, droppedLinks int

	index map[attribute.Key]int // of attrs, when there are many
	*rare
}

type rare struct {
	parent     trace.SpanContext // one that the span's own fields cannot say
	start, end time.Time         // given ones that a number of nanoseconds cannot say
	endTask    func()            // of runtime/trace
}

// extra returns more, made if need be. s.mu is held, or s is new.
func (s *Span) extra() *more {
	if s.more == nil {
		s.more = &more{}
	}
	return s.more
}

// withEvent and withLink return more, made if need be with room for the first in
// the same object.
func (s *Span) withEvent() *more {
	if s.more == nil {
		m := &struct {
			more
			room [1]sdktrace.Event
		}{}
		m.events = m.room[:0]
		s.more = &m.more
	}
	return s.more
}

func (s *Span) withLink() *more {
	if s.more == nil {
		m := &struct {
			more
			room [1]sdktrace.Link
		}{}
		m.links = m.room[:0]
		s.more = &m.more
	}
	return s.more
}

func (s *Span) rarity() *rare {
	m := s.extra()
	if m.rare == nil {
		m.rare = &rare{}
	}
	return m.rare
}

func (s *Span) ended() bool { return s.state.Load()&endedBit != 0 }

// IsRecording reports whether the span has not ended.
func (s *Span) IsRecording() bool { return s != nil && !s.ended() }

// change locks the span for writing, and reports false, with nothing locked,
// when it has ended.
func (s *Span) change() bool {
	if s == nil || s.ended() {
		return false
	}
	s.mu.Lock()
	if s.ended() {
		s.mu.Unlock()
		return false
	}
	return true
}

// SetName changes the name.
func (s *Span) SetName(name string) {
	if s.change() {
		s.name = name
		s.mu.Unlock()
	}
}

// SetStatus sets the status unless it has one that outranks it: Ok outranks
// Error, and Error outranks Unset. Only an error has a description.
func (s *Span) SetStatus(code codes.Code, description string) {
	if !s.change() {
		return
	}
	defer s.mu.Unlock()
	if codes.Code(s.code) > code {
		return
	}
	s.code = uint8(min(code, 255))
	switch {
	case code == codes.Error && (description != "" || s.more != nil):
		s.extra().description = description
	case s.more != nil:
		s.more.description = ""
	}
}

// TracerProvider returns the provider that the span comes from.
func (s *Span) TracerProvider() trace.TracerProvider { return s.tracer.provider }

// addChild counts a child unless the span has ended.
func (s *Span) addChild() {
	for {
		state := s.state.Load()
		if state&endedBit != 0 || state == endedBit-1 || s.state.CompareAndSwap(state, state+1) {
			return
		}
	}
}
