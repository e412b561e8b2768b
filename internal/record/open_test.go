package record

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ended is a sink that keeps everything.
type ended struct {
	mu    sync.Mutex
	spans []*Span
}

func (e *ended) put(s *Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans = append(e.spans, s)
}

func (e *ended) all() []*Span {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.spans)
}

func (e *ended) names() []string {
	var n []string
	for _, s := range e.all() {
		n = append(n, s.Name())
	}
	return n
}

// newTest returns a provider with the SDK's default limits.
func newTest(s Settings) (*Provider, *Tracer, *ended) {
	e := &ended{}
	s.Limits, s.Sink = sdktrace.NewSpanLimits(), e.put
	p := New(s)
	return p, p.Scope("test"), e
}

func TestEndedSpansLeaveTheTable(t *testing.T) {
	t.Parallel()
	p, tracer, _ := newTest(Settings{})
	for i := range 10_000 {
		ctx, parent := tracer.Start(t.Context(), "parent")
		_, child := tracer.Start(ctx, "child")
		if i == 0 && p.Open() != 2 {
			t.Errorf("2 spans open, table has %d", p.Open())
		}
		child.End()
		child.End()
		parent.End()
	}
	if p.Open() != 0 || p.Started() != 20_000 || p.Ended() != 20_000 {
		t.Errorf("open %d, started %d, ended %d; want 0, 20000, 20000", p.Open(), p.Started(), p.Ended())
	}
	if n := p.CloseAll(t.Context()); n != 0 {
		t.Errorf("closed %d spans, want none", n)
	}
}

func TestOpenSpans(t *testing.T) {
	t.Parallel()
	p, tracer, _ := newTest(Settings{})
	at := time.Now()
	ctx, job := tracer.StartGroup(t.Context(), "job", "job", trace.WithTimestamp(at), trace.WithAttributes(attribute.Int("rank", 3)))
	_, step := tracer.StartGroup(ctx, "step", "step", trace.WithTimestamp(at.Add(time.Second)))
	_, gone := tracer.StartGroup(ctx, "gone", "gone")
	gone.End()
	step.SetName("step 7")

	got := p.OpenSpans()
	if len(got) != 2 {
		t.Fatalf("%d open spans, want 2: %v", len(got), got)
	}
	for i, want := range []struct {
		name, group string
		start       time.Time
		attrs       []attribute.KeyValue
		span        trace.SpanContext
		parent      trace.SpanID
	}{
		{"job", "job", at, []attribute.KeyValue{attribute.Int("rank", 3)}, job.SpanContext(), trace.SpanID{}},
		{"step 7", "step", at.Add(time.Second), nil, step.SpanContext(), job.SpanContext().SpanID()},
	} {
		o := got[i]
		if o.Name != want.name || o.Group != want.group || !o.Start.Equal(want.start) || !slices.Equal(o.Attributes, want.attrs) ||
			o.SpanID != want.span.SpanID() || o.TraceID != want.span.TraceID() || o.Parent != want.parent {
			t.Errorf("span %d: got %+v, want %+v", i, o, want)
		}
	}
	// The copy is the caller's.
	got[0].Attributes[0] = attribute.Int("rank", 4)
	if p.OpenSpans()[0].Attributes[0].Value.AsInt64() != 3 {
		t.Error("a change of the snapshot reached the span")
	}
	step.End()
	job.End()
}

func TestCloseAll(t *testing.T) {
	t.Parallel()
	p, tracer, out := newTest(Settings{})
	ctx, job := tracer.Start(t.Context(), "job")
	ctx, step := tracer.Start(ctx, "step")
	step.SetStatus(codes.Error, "diverged")
	_, inner := tracer.Start(ctx, "inner")
	_, done := tracer.Start(ctx, "ended")
	done.End()
	if err := p.ForceFlush(t.Context()); err != nil || p.Open() != 3 {
		t.Errorf("a flush ended spans: %d open, want 3; %v", p.Open(), err)
	}

	if n := p.CloseAll(t.Context()); n != 3 {
		t.Errorf("closed %d spans, want 3", n)
	}
	if got, want := out.names(), []string{"ended", "inner", "step", "job"}; !slices.Equal(got, want) {
		t.Errorf("ended in the order %v, want %v", got, want)
	}
	for _, s := range out.all() {
		cut := slices.Contains(s.Attributes(), attribute.Bool("nemo.span.truncated", true))
		if s.Name() == "ended" {
			if cut || len(s.Events()) != 0 {
				t.Errorf("a span that ended by itself is marked: %v %v", s.Attributes(), s.Events())
			}
			continue
		}
		if !cut || len(s.Events()) != 1 || s.Events()[0].Name != "nemo.span.truncated" ||
			!slices.Equal(s.Events()[0].Attributes, []attribute.KeyValue{attribute.String("nemo.span.truncated.reason", "still open at telemetry shutdown")}) {
			t.Errorf("%s: attributes %v, events %+v", s.Name(), s.Attributes(), s.Events())
		}
		wantStatus := sdktrace.Status{}
		if s.Name() == "step" {
			wantStatus = sdktrace.Status{Code: codes.Error, Description: "diverged"}
		}
		if s.Status() != wantStatus {
			t.Errorf("%s: status %v, want %v", s.Name(), s.Status(), wantStatus)
		}
	}
	end := out.all()[1].EndTime()
	for _, s := range out.all()[1:] {
		if !s.EndTime().Equal(end) || s.EndTime().Before(s.StartTime()) {
			t.Errorf("%s ended at %v, started at %v; the innermost ended at %v", s.Name(), s.EndTime(), s.StartTime(), end)
		}
	}

	// The program ends its spans after all, and starts more.
	inner.End()
	step.End()
	job.End()
	if n := len(out.all()); n != 4 {
		t.Errorf("%d spans reached the sink, want each of 4 once", n)
	}
	var late []trace.Span
	for range 1000 {
		_, s := tracer.Start(t.Context(), "late")
		late = append(late, s)
	}
	if p.Open() != 0 {
		t.Errorf("%d spans tracked after CloseAll", p.Open())
	}
	if n := p.CloseAll(t.Context()); n != 0 || !late[0].IsRecording() {
		t.Errorf("the second CloseAll ended %d spans", n)
	}
	for _, s := range late {
		s.End()
	}
	if p.Started() != 1004 || p.Ended() != 1004 {
		t.Errorf("started %d, ended %d, want 1004", p.Started(), p.Ended())
	}
}

// The parent decides where start times do not: equal ones are common with a coarse
// clock, and a program can set any.
func TestCloseAllOrder(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, starts := range map[string][3]time.Time{
		"equal":               {now, now, now},
		"child before parent": {now.Add(-time.Hour), now.Add(-2 * time.Hour), now.Add(-3 * time.Hour)},
		"child in the future": {now, now.Add(time.Hour), now},
	} {
		p, tracer, out := newTest(Settings{})
		a, _ := tracer.Start(t.Context(), "a", trace.WithTimestamp(starts[0]))
		b, _ := tracer.Start(a, "b", trace.WithTimestamp(starts[1]))
		tracer.Start(b, "c", trace.WithTimestamp(starts[2]))
		tracer.Start(t.Context(), "unrelated", trace.WithTimestamp(now.Add(-24*time.Hour)))
		p.CloseAll(t.Context())
		if got, want := out.names(), []string{"c", "b", "a", "unrelated"}; !slices.Equal(got, want) {
			t.Errorf("%s: order %v, want %v", name, got, want)
		}
		ends := out.all()
		for i, s := range ends {
			if s.EndTime().Before(s.StartTime()) {
				t.Errorf("%s: %s ends before it starts", name, s.Name())
			}
			if i > 0 && i < 3 && ends[i-1].EndTime().After(s.EndTime()) {
				t.Errorf("%s: %s ends before its child", name, s.Name())
			}
		}
	}
}

// stall is a processor whose OnEnd waits, as one that exports may.
type stall struct {
	sdktrace.SpanProcessor
	entered, leave chan struct{}
}

func (stall) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s stall) OnEnd(sdktrace.ReadOnlySpan) {
	s.entered <- struct{}{}
	<-s.leave
}

func TestCloseAllIsBounded(t *testing.T) {
	t.Parallel()
	st := stall{entered: make(chan struct{}, 3), leave: make(chan struct{})}
	p, tracer, out := newTest(Settings{Processors: []sdktrace.SpanProcessor{st}})
	tracer.Start(t.Context(), "first")
	tracer.Start(t.Context(), "second")

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-st.entered
		cancel()
	}()
	p.CloseAll(ctx)
	if p.Open() != 1 {
		t.Errorf("%d spans open, want the first", p.Open())
	}
	close(st.leave)
	if n := p.CloseAll(t.Context()); n != 0 {
		t.Errorf("a second call ended %d spans", n)
	}
	if got := out.names(); !slices.Equal(got, []string{"second"}) {
		t.Errorf("ended %v, want the second only: the time was up", got)
	}
}

func TestConcurrentCloseAllWaits(t *testing.T) {
	t.Parallel()
	st := stall{entered: make(chan struct{}, 1), leave: make(chan struct{})}
	p, tracer, out := newTest(Settings{Processors: []sdktrace.SpanProcessor{st}})
	tracer.Start(t.Context(), "span")
	total := make(chan int)
	for range 2 {
		go func() {
			n := p.CloseAll(context.Background())
			if len(out.all()) != 1 {
				t.Errorf("CloseAll returned before the span was ended")
			}
			total <- n
		}()
	}
	<-st.entered
	close(st.leave)
	if n := <-total + <-total; n != 1 {
		t.Errorf("ended %d in all, want 1", n)
	}
}

func TestOpenLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 64, 1000, 10_000} {
		var calls atomic.Int64
		var tracer *Tracer
		var p *Provider
		p, tracer, _ = newTest(Settings{OpenLimit: limit, OnOpenLimit: func(told int) {
			calls.Add(1)
			if told != limit {
				t.Errorf("told of a limit of %d, want %d", told, limit)
			}
			_, s := tracer.Start(context.Background(), "from the callback")
			s.End()
		}})
		spans := make([][]trace.Span, 8)
		var wg sync.WaitGroup
		for i := range spans {
			wg.Go(func() {
				for range limit {
					_, s := tracer.Start(context.Background(), "not ended yet")
					spans[i] = append(spans[i], s)
				}
			})
		}
		wg.Wait()
		if n := p.Open(); n > limit || n < limit*9/10 {
			t.Errorf("%d spans tracked, want at most %d and about as many", n, limit)
		}
		if calls.Load() != 1 {
			t.Errorf("told %d times, want once", calls.Load())
		}
		if p.Started() != uint64(8*limit+1) || p.Ended() != 1 {
			t.Errorf("started %d, ended %d, want %d and 1", p.Started(), p.Ended(), 8*limit+1)
		}
		for _, some := range spans {
			for _, s := range some {
				s.End()
			}
		}
		// What the shards took of the limit came back.
		var again []trace.Span
		for range limit {
			_, s := tracer.Start(context.Background(), "again")
			again = append(again, s)
		}
		if n := p.Open(); n < limit*9/10 {
			t.Errorf("%d of %d spans tracked after the first ones have ended", n, limit)
		}
		for _, s := range again {
			s.End()
		}
		if p.Open() != 0 {
			t.Errorf("%d spans tracked, want none", p.Open())
		}
	}
}

// fewIDs gives the same few span ids again and again, also the invalid one.
type fewIDs struct{ n atomic.Uint64 }

func (g *fewIDs) NewIDs(ctx context.Context) (tid trace.TraceID, _ trace.SpanID) {
	binary.BigEndian.PutUint64(tid[8:], g.n.Load()/16+1)
	return tid, g.NewSpanID(ctx, tid)
}

func (g *fewIDs) NewSpanID(context.Context, trace.TraceID) (sid trace.SpanID) {
	sid[7] = byte(g.n.Add(1) % 16)
	return sid
}

func TestPoorIDs(t *testing.T) {
	t.Parallel()
	p, tracer, out := newTest(Settings{IDs: &fewIDs{}})
	var spans []trace.Span
	for i := range 160 {
		_, s := tracer.Start(t.Context(), fmt.Sprint(i))
		spans = append(spans, s)
	}
	for _, i := range rand.Perm(160)[:80] {
		spans[i].End()
		if p.Open() != 160-len(out.all()) {
			t.Fatalf("%d tracked after %d of 160 ended", p.Open(), len(out.all()))
		}
	}
	for _, o := range p.OpenSpans() {
		if slices.Contains(out.names(), o.Name) {
			t.Errorf("span %s has ended and is tracked", o.Name)
		}
		if !o.SpanID.IsValid() {
			t.Errorf("span %s has no id", o.Name)
		}
	}
	if n := p.CloseAll(t.Context()); n != 80 || len(out.all()) != 160 {
		t.Errorf("closed %d, exported %d; want 80 and 160", n, len(out.all()))
	}
	if p.Faults(IDFault) != 10 {
		t.Errorf("%d faults of the id generator, want 10", p.Faults(IDFault))
	}
}

// Spans keep starting while the table closes: each is ended by somebody, once.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	p, tracer, out := newTest(Settings{})
	var wg sync.WaitGroup
	begun := make(chan struct{}, 4)
	for range 4 {
		wg.Go(func() {
			for i := range 2000 {
				_, s := tracer.Start(context.Background(), "span")
				if i == 100 {
					begun <- struct{}{}
				}
				if i%3 == 0 {
					s.End()
				}
			}
		})
	}
	<-begun
	n := p.CloseAll(t.Context())
	wg.Wait()
	if p.Open() != 0 || n == 0 {
		t.Errorf("%d tracked after CloseAll, which ended %d", p.Open(), n)
	}
	seen := make(map[trace.SpanID]bool)
	for _, s := range out.all() {
		if seen[s.SpanID()] {
			t.Fatalf("span %s reached the sink twice", s.SpanID())
		}
		seen[s.SpanID()] = true
	}
	if got := p.Ended(); got != uint64(len(seen)) {
		t.Errorf("counted %d ended, %d were", got, len(seen))
	}
}

// One span, used by everybody at once.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	p, tracer, out := newTest(Settings{Processors: []sdktrace.SpanProcessor{reader{}}})
	for range 40 {
		ctx, span := tracer.Start(context.Background(), "shared")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				span.SetAttributes(attribute.Int(fmt.Sprint("key ", i), i), attribute.Int("same", i))
				span.AddEvent("event", trace.WithAttributes(attribute.Int("i", i)))
				span.RecordError(errBench)
				span.AddLink(trace.Link{SpanContext: remote})
				span.SetStatus(codes.Error, "text")
				span.SetName(fmt.Sprint("name ", i))
				_, child := tracer.StartGroup(ctx, "child", "child")
				readAll(span.(*Span))
				p.OpenSpans()
				child.End()
				if i%2 == 1 {
					span.End()
				}
				span.SetAttributes(attribute.Int("late", i))
				readAll(span.(*Span))
			})
		}
		wg.Wait()
	}
	if p.Open() != 0 || p.Ended() != 40*9 || len(out.all()) != 40*9 {
		t.Errorf("open %d, ended %d, in the sink %d; want 0, 360, 360", p.Open(), p.Ended(), len(out.all()))
	}
}

// reader is a processor that reads everything.
type reader struct{ sdktrace.SpanProcessor }

func (reader) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { readAll(s) }
func (reader) OnEnd(s sdktrace.ReadOnlySpan)                       { readAll(s) }

func readAll(s sdktrace.ReadOnlySpan) {
	_ = fmt.Sprint(tracetest.SpanStubFromReadOnlySpan(s), s.SpanContext(), s.InstrumentationScope())
}
