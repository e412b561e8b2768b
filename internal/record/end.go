package record

import (
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// End ends the span; only the first call does. Deferred directly, it records a
// panic that passes, and the panic goes on.
func (s *Span) End(opts ...trace.SpanEndOption) {
	if s == nil || s.ended() {
		return
	}
	p := s.tracer.provider
	tick := p.tick() // before anything that takes time
	var stamp time.Time
	var withStack bool
	if len(opts) > 0 {
		c := trace.NewSpanEndConfig(opts...)
		stamp, withStack = c.Timestamp(), c.StackTrace()
	}
	if r := recover(); r != nil {
		defer panic(r)
		attrs := []attribute.KeyValue{exceptionType.String(typeName(r)), exceptionMessage.String(textOf(r))}
		if withStack {
			attrs = append(attrs, exceptionStack.String(string(debug.Stack())))
		}
		s.AddEventAt(exceptionEvent, time.Time{}, attrs)
	}
	s.end(tick, stamp)
}

// Finish is End without options, for a caller that has itself seen to a panic.
func (s *Span) Finish() {
	if s != nil && !s.ended() {
		s.end(s.tracer.provider.tick(), time.Time{})
	}
}

// end reports false if the span had ended.
func (s *Span) end(tick int64, stamp time.Time) bool {
	if !s.change() {
		return false
	}
	p := s.tracer.provider
	if s.more != nil && s.more.rare != nil && s.more.endTask != nil {
		// Not the application's code, and it takes no lock of ours.
		s.more.endTask()
		s.more.endTask = nil
	}
	switch {
	case !stamp.IsZero():
		s.setEnd(stamp)
	case s.bits&wallStart != 0:
		s.setEnd(p.now().In(s.StartTime().Location()))
	default:
		s.tick = s.start + (tick - s.tick)
	}
	if s.more != nil {
		s.more.index = nil
	}
	s.carrier = nil
	s.state.Or(endedBit)
	s.mu.Unlock()

	p.open.leave(s)
	if p.watcher != nil {
		p.closed(s)
	}
	if ps := p.processors.Load(); ps != nil {
		ps.onEnd(s)
	}
	if p.sink != nil && s.flags.IsSampled() {
		p.give(s)
	}
	return true
}

// setStart and setEnd keep a time that was given.
func (s *Span) setStart(t time.Time) {
	s.start = t.UnixNano()
	if t == t.Round(0) { // no reading of the monotonic clock
		s.bits |= wallStart
	}
	s.tick = int64(t.Sub(base))
	switch {
	case !exact(t, s.start):
		s.rarity().start = t.Round(0)
		s.bits |= oddStart
	case t.Location() == time.UTC:
		s.bits |= inUTC
	}
}

func (s *Span) setEnd(t time.Time) {
	s.tick = t.UnixNano()
	if !exact(t, s.tick) || (t.Location() == time.UTC) != (s.bits&inUTC != 0) {
		s.rarity().end = t.Round(0)
	}
}

// exact reports whether the number says it all: nanoseconds reach from 1678 to
// 2262, and there are two bits for locations.
func exact(t time.Time, nano int64) bool {
	l := t.Location()
	return (l == time.Local || l == time.UTC) && time.Unix(0, nano).Equal(t)
}
