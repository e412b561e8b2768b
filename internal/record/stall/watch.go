package stall

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Span is an open span of the recorder.
type Span interface {
	TraceID() trace.TraceID
	SpanID() trace.SpanID
	ParentSpanID() trace.SpanID
	Name() string
	Group() string
	StartTime() time.Time
	Attributes() []attribute.KeyValue
	IsRecording() bool
	AddEventAt(name string, at time.Time, attrs []attribute.KeyValue)
}

// Settings say what is looked for.
type Settings struct {
	// After is how long a span may be open before it is reported; 0 is for ever.
	After time.Duration
	// Groups are the groups for which it is another time.
	Groups map[string]time.Duration
	// Heartbeat is the time between two heartbeats of a span; 0 is none.
	Heartbeat time.Duration
	// Stacks adds the stacks of all goroutines to a report, at most every ten minutes.
	Stacks bool

	// Open returns the spans that are open.
	Open func() []Span
	// Report is told of a span that stalls, and Beat that it is time for a heartbeat.
	// Both are called by one goroutine. Beat's interval begins where the last one ended.
	Report func(Report)
	Beat   func(s Span, from, to time.Time)
}

// Report is what is known of a span that stalls.
type Report struct {
	Span     Span
	Age      time.Duration
	Ancestry []string // names, from the outermost open span to this one
	Stacks   string   // "" when none were asked for or it is too early for more
	More     int      // spans that stalled at the same time and have no report of their own
}

const (
	// EventName is the name of the event that a stalling span gets.
	EventName = "nemo.span.stalled"
	// AgeKey is its attribute: how long the span had been open, in seconds.
	AgeKey = attribute.Key("nemo.span.stalled.seconds")

	maxReports   = 20 // of one look
	maxStacks    = 64 << 10
	stacksEvery  = 10 * time.Minute
	maxAncestors = 32

	shortestLook = 100 * time.Millisecond
	longestLook  = 5 * time.Second
)

// Watch looks at the open spans until it is stopped.
type Watch struct {
	Settings
	known      map[trace.SpanID]*spanState
	lastStacks time.Time

	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once
}

type spanState struct {
	reported bool
	beat     time.Time // the last one; the start of the span before the first
	seen     bool
}

// Wanted reports whether there is anything to look for.
func (s Settings) Wanted() bool { return s.shortest() > 0 }

// shortest is the shortest time after which something is due.
func (s Settings) shortest() (d time.Duration) {
	times := []time.Duration{s.After, s.Heartbeat}
	for _, after := range s.Groups {
		times = append(times, after)
	}
	for _, t := range times {
		if t > 0 && (d == 0 || t < d) {
			d = t
		}
	}
	return d
}

// Start begins to look, a few times in the shortest of the times that are given. It
// returns nil, which can be stopped, when there is nothing to look for.
func Start(s Settings) *Watch {
	if !s.Wanted() {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{Settings: s, known: map[trace.SpanID]*spanState{}, cancel: cancel, done: make(chan struct{})}
	go w.run(ctx)
	return w
}

// Stop ends it and waits for a look that is under way, at most until ctx is done.
func (w *Watch) Stop(ctx context.Context) {
	if w == nil {
		return
	}
	w.once.Do(w.cancel)
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}

func (w *Watch) run(ctx context.Context) {
	defer close(w.done)
	ticker := time.NewTicker(min(max(w.shortest()/4, shortestLook), longestLook))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.look(time.Now())
		}
	}
}

// after is how long a span of the group may be open.
func (w *Watch) after(group string) time.Duration {
	if d, ok := w.Groups[group]; ok && group != "" {
		return d
	}
	return w.After
}

func (w *Watch) look(now time.Time) {
	open := w.Open()
	var stalled []Span
	for _, s := range open {
		id, age := s.SpanID(), now.Sub(s.StartTime())
		state := w.known[id]
		stalls := w.after(s.Group()) > 0 && age >= w.after(s.Group())
		beats := w.Heartbeat > 0 && age >= w.Heartbeat
		if !stalls && !beats || !s.IsRecording() {
			continue // most spans end before anything is remembered of them
		}
		if state == nil {
			state = &spanState{beat: s.StartTime()}
			w.known[id] = state
		}
		state.seen = true
		if stalls && !state.reported {
			state.reported = true
			stalled = append(stalled, s)
		}
		if beats && now.Sub(state.beat) >= w.Heartbeat {
			w.Beat(s, state.beat, now)
			state.beat = now
		}
	}
	for id, state := range w.known {
		if !state.seen {
			delete(w.known, id)
		}
		state.seen = false
	}
	if len(stalled) > 0 {
		w.report(stalled, open, now)
	}
}

// report tells of the innermost spans first, since they say where it hangs.
func (w *Watch) report(stalled, open []Span, now time.Time) {
	byID := make(map[trace.SpanID]Span, len(open))
	for _, s := range open {
		byID[s.SpanID()] = s
	}
	type known struct {
		Span
		ancestry []string
	}
	all := make([]known, len(stalled))
	for i, s := range stalled {
		all[i] = known{s, ancestry(s, byID)}
	}
	slices.SortStableFunc(all, func(a, b known) int { return len(b.ancestry) - len(a.ancestry) })
	for i, s := range all {
		age := now.Sub(s.StartTime())
		s.AddEventAt(EventName, now, []attribute.KeyValue{AgeKey.Float64(age.Seconds())})
		if i >= maxReports {
			continue
		}
		r := Report{Span: s.Span, Age: age, Ancestry: s.ancestry}
		if i == 0 {
			r.Stacks = w.stacks(now)
		}
		if i == maxReports-1 {
			r.More = len(all) - maxReports
		}
		w.Report(r)
	}
}

func ancestry(s Span, open map[trace.SpanID]Span) []string {
	names := []string{s.Name()}
	for at := open[s.ParentSpanID()]; at != nil && len(names) < maxAncestors; at = open[at.ParentSpanID()] {
		names = append(names, at.Name())
	}
	slices.Reverse(names)
	return names
}

func (w *Watch) stacks(now time.Time) string {
	if !w.Stacks || !w.lastStacks.IsZero() && now.Sub(w.lastStacks) < stacksEvery {
		return ""
	}
	w.lastStacks = now
	buf := make([]byte, maxStacks)
	n := runtime.Stack(buf, true)
	text := string(buf[:n])
	if n == len(buf) {
		text = text[:strings.LastIndexByte(text, '\n')+1] + "…\n"
	}
	return text
}
