package record

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

const (
	// TruncatedKey is the attribute, set to true, of a span that CloseAll ended,
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
func (p *Provider) CloseAll(ctx context.Context) int {
	var ended atomic.Int64
	if p.open.closing.CompareAndSwap(false, true) {
		spans := p.open.all(true)
		// A processor of the application may make the end wait, longer than ctx.
		go func() {
			defer close(p.open.closed)
			p.closeSpans(ctx, spans, &ended)
		}()
	}
	select {
	case <-p.open.closed:
	case <-ctx.Done():
	}
	return int(ended.Load())
}

// leftover is a span to be ended.
type leftover struct {
	span     *Span
	start    time.Time
	end      time.Time // no earlier
	parent   int       // index, or -1
	children []int
	placed   bool
}

func (p *Provider) closeSpans(ctx context.Context, spans []*Span, ended *atomic.Int64) {
	all := relate(spans)
	// The wall clock without the monotonic one is what is exported.
	now := p.now().Round(0)
	for _, i := range innermostFirst(all) {
		if ctx.Err() != nil {
			return
		}
		l := &all[i]
		// A start may be in the future: programs give their own, and clocks are set back.
		end := latest(now, l.start, l.end)
		if l.parent >= 0 {
			parent := &all[l.parent]
			parent.end = latest(parent.end, end)
		}
		if l.span.truncate(end) {
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
func relate(spans []*Span) []leftover {
	type id struct {
		trace trace.TraceID
		span  trace.SpanID
	}
	all := make([]leftover, len(spans))
	index := make(map[id]int, len(spans))
	for i, s := range spans {
		all[i] = leftover{span: s, start: s.StartTime(), parent: -1}
		index[id{s.traceID, s.spanID}] = i
	}
	for i, s := range spans {
		if p, ok := index[id{s.traceID, s.parentID}]; ok && p != i {
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

// truncate reports whether s was open.
func (s *Span) truncate(end time.Time) bool {
	s.SetAttributes(attribute.Bool(TruncatedKey, true))
	s.AddEventAt(TruncatedKey, end, []attribute.KeyValue{attribute.String(ReasonKey, Reason)})
	return s.end(0, end)
}
