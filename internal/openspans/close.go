package openspans

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	// TruncatedKey is the attribute, set to true, of a span that the table ended,
	// and the name of the event that it gets.
	TruncatedKey = "nemo.span.truncated"
	// ReasonKey is the event's attribute that says why.
	ReasonKey = "nemo.span.truncated.reason"
	// Reason is its value.
	Reason = "still open at telemetry shutdown"
)

// CloseAll stops tracking new spans and ends those that are open, innermost first:
// the latest start first, and no parent before its child. Each gets the attribute
// and the event of [TruncatedKey]; its status is left as it is. All have the same
// end time, so that no child ends after its parent. It returns how many it ended.
//
// When ctx is done it returns; the span being ended then is not waited for, and the
// others stay open. Only the first call ends spans: a later one waits for it, at
// most until its own ctx is done, and returns 0.
func (t *Table) CloseAll(ctx context.Context) int {
	var ended atomic.Int64
	if t.closing.CompareAndSwap(false, true) {
		spans := t.leftovers()
		// The processor that exports may make End wait, longer than ctx.
		go func() {
			defer close(t.closed)
			closeSpans(ctx, spans, &ended)
		}()
	}
	select {
	case <-t.closed:
	case <-ctx.Done():
	}
	return int(ended.Load())
}

// leftovers closes the shards and returns what they hold.
func (t *Table) leftovers() []sdktrace.ReadWriteSpan {
	var slots []slot
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		sh.closed = true
		slots = sh.appendTo(slots)
		sh.mu.Unlock()
	}
	spans := make([]sdktrace.ReadWriteSpan, len(slots))
	for i := range slots {
		spans[i] = slots[i].span
	}
	return spans
}

// leftover is a span to be ended.
type leftover struct {
	span     sdktrace.ReadWriteSpan
	start    time.Time
	end      time.Time // no earlier
	parent   int       // index, or -1
	children []int
	placed   bool
}

func closeSpans(ctx context.Context, spans []sdktrace.ReadWriteSpan, ended *atomic.Int64) {
	all := relate(spans)
	// The wall clock without the monotonic one is what is exported.
	now := time.Now().Round(0)
	for _, i := range innermostFirst(all) {
		if ctx.Err() != nil {
			return
		}
		l := &all[i]
		// A start may be in the future: programs give their own, and clocks are set back.
		end := latest(now, l.start.Round(0), l.end)
		if l.parent >= 0 {
			p := &all[l.parent]
			p.end = latest(p.end, end)
		}
		if closeSpan(l.span, end) {
			ended.Add(1)
		}
	}
}

func latest(first time.Time, more ...time.Time) time.Time {
	for _, t := range more {
		if t.After(first) {
			first = t
		}
	}
	return first
}

// relate finds parents among spans.
func relate(spans []sdktrace.ReadWriteSpan) []leftover {
	type id struct {
		trace trace.TraceID
		span  trace.SpanID
	}
	all := make([]leftover, len(spans))
	index := make(map[id]int, len(spans))
	for i, s := range spans {
		sc := s.SpanContext()
		all[i] = leftover{span: s, start: s.StartTime(), parent: -1}
		index[id{sc.TraceID(), sc.SpanID()}] = i
	}
	for i, s := range spans {
		if p, ok := index[id{s.SpanContext().TraceID(), s.Parent().SpanID()}]; ok && p != i {
			all[i].parent = p
			all[p].children = append(all[p].children, i)
		}
	}
	return all
}

// innermostFirst returns the order of ending. Start times alone do not give it:
// they can be equal, and a program can set them.
func innermostFirst(all []leftover) []int {
	latestFirst := func(a, b int) int { return all[b].start.Compare(all[a].start) }
	byStart := make([]int, len(all))
	for i := range all {
		byStart[i] = i
		slices.SortFunc(all[i].children, latestFirst)
	}
	slices.SortFunc(byStart, latestFirst)

	order := make([]int, 0, len(all))
	var place func(int)
	place = func(i int) {
		if all[i].placed {
			return
		}
		all[i].placed = true
		for _, c := range all[i].children {
			place(c)
		}
		order = append(order, i)
	}
	for _, i := range byStart {
		place(i)
	}
	return order
}

// closeSpan reports whether s was open. A panic in one step, such as one of another
// span processor in End, does not keep the others from being taken.
func closeSpan(s sdktrace.ReadWriteSpan, end time.Time) bool {
	open := false
	safely(func() { open = s.IsRecording() })
	if !open {
		return false
	}
	safely(func() { s.SetAttributes(attribute.Bool(TruncatedKey, true)) })
	safely(func() {
		s.AddEvent(TruncatedKey, trace.WithTimestamp(end), trace.WithAttributes(attribute.String(ReasonKey, Reason)))
	})
	safely(func() { s.End(trace.WithTimestamp(end)) })
	return true
}

func safely(step func()) {
	// Nothing is said of the panic: the program is on its way out, and the span
	// shows what could not be set.
	defer func() { _ = recover() }()
	step()
}
