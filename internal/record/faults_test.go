package record

import (
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	rt "runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// bad is everything that a program can give, and everything in it panics.
type bad struct{ context.Context }

func (bad) Value(any) any                                                    { panic("bad value, token=hunter2") }
func (bad) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult { panic("bad sampler") }
func (bad) Description() string                                              { return "bad" }
func (bad) NewIDs(context.Context) (trace.TraceID, trace.SpanID)             { panic("bad ids") }
func (bad) NewSpanID(context.Context, trace.TraceID) trace.SpanID            { panic("bad id") }
func (bad) OnStart(context.Context, sdktrace.ReadWriteSpan)                  { panic("bad start") }
func (bad) OnEnd(sdktrace.ReadOnlySpan)                                      { panic("bad end") }
func (bad) Shutdown(context.Context) error                                   { panic("bad shutdown") }
func (bad) ForceFlush(context.Context) error                                 { panic("bad flush") }
func (bad) SpanOpened(*Span) int32                                           { panic("bad watcher") }
func (bad) SpanSet(*Span, int32, []attribute.KeyValue)                       { panic("bad watcher") }
func (bad) SpanClosed(*Span, int32)                                          { panic("bad watcher") }

func TestPanicsOfTheProgramStayThere(t *testing.T) {
	t.Parallel()
	var said []string
	var kinds []Fault
	p := New(Settings{
		Sampler: bad{}, IDs: bad{}, Limits: sdktrace.NewSpanLimits(), Watcher: bad{},
		Processors: []sdktrace.SpanProcessor{nil, (*nilProcessor)(nil), bad{}},
		Sink:       func(*Span) { panic("bad sink") },
		Scoped:     func(context.Context) []attribute.KeyValue { panic("bad scope") },
		OnFault: func(f Fault, text string) {
			kinds = append(kinds, f)
			said = append(said, f.String()+": "+text)
		},
	})
	tracer := p.Tracer("test")
	for range 3 {
		ctx, parent := tracer.Start(context.Background(), "parent", trace.WithAttributes(attribute.Int("a", 1)))
		_, child := tracer.Start(ctx, "child")
		if !parent.IsRecording() || !parent.SpanContext().IsSampled() || !child.SpanContext().IsValid() ||
			child.SpanContext().TraceID() != parent.SpanContext().TraceID() {
			t.Fatalf("parent %v, child %v", parent.SpanContext(), child.SpanContext())
		}
		child.End()
		parent.End()
		// A context that cannot be asked is no parent.
		_, orphan := tracer.Start(bad{context.Background()}, "orphan")
		if !orphan.IsRecording() || orphan.(*Span).Parent().IsValid() {
			t.Fatalf("orphan has the parent %v", orphan.(*Span).Parent())
		}
		orphan.End()
	}
	if p.Open() != 0 || p.Ended() != 9 {
		t.Errorf("%d open, %d ended; want 0 and 9", p.Open(), p.Ended())
	}
	for f, want := range map[Fault]uint64{SamplerFault: 9, IDFault: 9, ContextFault: 3, ProcessorFault: 18 + 2, HookFault: 9 + 18 + 6} {
		if got := p.Faults(f); got != want {
			t.Errorf("%v: %d faults, want %d", f, got, want)
		}
	}
	slices.Sort(kinds)
	if want := []Fault{SamplerFault, IDFault, ContextFault, ProcessorFault, HookFault}; !slices.Equal(kinds, want) {
		t.Errorf("told of %v, want each kind once: %q", kinds, said)
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, "hunter2") {
		t.Errorf("a secret was said: %s", text)
	}
	for _, err := range []error{p.ForceFlush(t.Context()), p.Shutdown(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "span processor record.bad panicked: bad") {
			t.Errorf("error %v", err)
		}
	}
}

type nilProcessor struct{ sdktrace.SpanProcessor }

// inWhole is a context whose Value starts a span below itself, for ever.
type inWhole struct {
	context.Context
	tracer trace.Tracer
}

func (c *inWhole) Value(key any) any {
	_, s := c.tracer.Start(c, "from within")
	s.End()
	return c.Context.Value(key)
}

func TestContextThatStartsSpansInValue(t *testing.T) {
	t.Parallel()
	p, tracer, _ := newTest(Settings{})
	done := make(chan struct{})
	go func() { // on a stack of its own
		defer close(done)
		_, s := tracer.Start(&inWhole{context.Background(), tracer}, "outer")
		s.End()
	}()
	<-done
	if p.Faults(ContextFault) == 0 || p.Open() != 0 {
		t.Errorf("%d faults, %d open", p.Faults(ContextFault), p.Open())
	}
	for i := range p.open.shards {
		if n := p.open.shards[i].lookups.Load(); n != 0 {
			t.Errorf("shard %d: %d look-ups under way", i, n)
		}
	}
	// Later spans find their parents again.
	ctx, parent := tracer.Start(context.WithValue(context.Background(), aKey{}, 1), "parent")
	_, child := tracer.Start(context.WithValue(ctx, aKey{}, 2), "child")
	if child.(*Span).ParentSpanID() != parent.SpanContext().SpanID() {
		t.Error("the parent was not found")
	}
	child.End()
	parent.End()
}

// nonsense is a span of the program.
type nonsense struct{ trace.Span }

func TestSpanOfTheProgramAsParent(t *testing.T) {
	t.Parallel()
	p, tracer, _ := newTest(Settings{})
	_, s := tracer.Start(trace.ContextWithSpan(context.Background(), nonsense{}), "child")
	if !s.IsRecording() || p.Faults(ContextFault) != 1 {
		t.Errorf("recording %v, %d faults", s.IsRecording(), p.Faults(ContextFault))
	}
	_, s = tracer.Start(trace.ContextWithSpan(context.Background(), (*Span)(nil)), "child")
	if !s.IsRecording() {
		t.Error("not recording")
	}
}

type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }

func TestErrorWhoseTextPanics(t *testing.T) {
	t.Parallel()
	_, tracer, _ := newTest(Settings{})
	_, s := tracer.Start(t.Context(), "span")
	s.RecordError((*typedNil)(nil))
	s.End()
	e := s.(*Span).Events()
	if len(e) != 1 || e[0].Attributes[1].Value.AsString() != "<*record.typedNil whose text cannot be made>" {
		t.Errorf("events %v", e)
	}
}

// A nil span of our type does nothing, as the SDK's.
func TestNilSpan(t *testing.T) {
	t.Parallel()
	var s *Span
	s.SetAttributes(attribute.Int("a", 1))
	s.AddEvent("e")
	s.AddLink(trace.Link{SpanContext: remote})
	s.RecordError(errors.New("e"))
	s.SetStatus(1, "e")
	s.SetName("n")
	s.End()
	if s.IsRecording() || s.SpanContext().IsValid() {
		t.Error("a nil span records")
	}
}

// Times that a number of nanoseconds cannot say, or that are not local.
func TestGivenTimes(t *testing.T) {
	t.Parallel()
	_, tracer, _ := newTest(Settings{})
	there := time.FixedZone("there", 3600)
	for _, at := range []time.Time{
		time.Date(1500, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(2500, 1, 2, 3, 4, 5, 6, time.Local),
		time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(2020, 1, 2, 3, 4, 5, 6, there), time.Now(), time.Unix(0, 0),
	} {
		_, s := tracer.Start(t.Context(), "span", trace.WithTimestamp(at))
		s.End(trace.WithTimestamp(at.Add(time.Second)))
		got := s.(*Span)
		if got.StartTime() != at.Round(0) || got.EndTime() != at.Add(time.Second).Round(0) ||
			got.StartUnixNano() != at.UnixNano() || got.EndUnixNano() != at.Add(time.Second).UnixNano() {
			t.Errorf("%v: start %v, end %v", at, got.StartTime(), got.EndTime())
		}
	}
	// The length of a span does not follow a clock that is set.
	_, s := tracer.Start(t.Context(), "span")
	s.End()
	if d := s.(*Span).EndUnixNano() - s.(*Span).StartUnixNano(); d < 0 || d > int64(time.Minute) {
		t.Errorf("a span of %d ns", d)
	}
	// Without a reading of the monotonic clock the wall clock is all there is.
	_, s = tracer.Start(t.Context(), "span", trace.WithTimestamp(time.Now().Add(-time.Hour).UTC().Round(0)))
	s.End()
	if d := s.(*Span).EndTime().Sub(s.(*Span).StartTime()); d < time.Hour || d > time.Hour+time.Minute || s.(*Span).EndTime().Location() != time.UTC {
		t.Errorf("a span of %v that ends at %v", d, s.(*Span).EndTime())
	}
}

// All times that nobody gives are from the one clock.
func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	_, tracer, _ := newTest(Settings{clock: func() time.Time { now = now.Add(time.Second); return now }})
	_, s := tracer.Start(t.Context(), "span")
	s.(*Span).AddEventAt("event", time.Time{}, nil)
	s.End()
	got := s.(*Span)
	if got.StartTime() != time.Unix(1001, 0) || got.Events()[0].Time != time.Unix(1002, 0) || got.EndTime() != time.Unix(1003, 0) {
		t.Errorf("start %v, events %v, end %v", got.StartTime(), got.Events(), got.EndTime())
	}
}

func TestScopedAttributes(t *testing.T) {
	t.Parallel()
	type scope struct{}
	var sampled []attribute.KeyValue
	_, tracer, _ := newTest(Settings{
		Sampler: samplerFunc(func(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
			sampled = p.Attributes
			return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample, Attributes: []attribute.KeyValue{attribute.Int("of.sampler", 1)}}
		}),
		Scoped: func(ctx context.Context) []attribute.KeyValue {
			attrs, _ := ctx.Value(scope{}).([]attribute.KeyValue)
			return attrs
		},
	})
	ctx := context.WithValue(t.Context(), scope{}, []attribute.KeyValue{attribute.Int("a", 1), attribute.Int("b", 1), attribute.Int("of.sampler", 2)})
	_, s := tracer.StartSpan(ctx, "", "span", trace.SpanKindInternal, []attribute.KeyValue{attribute.Int("b", 2)})
	if want := []attribute.KeyValue{attribute.Int("b", 2), attribute.Int("a", 1), attribute.Int("of.sampler", 2)}; !slices.Equal(sampled, want) {
		t.Errorf("the sampler saw %v, want %v", sampled, want)
	}
	if got, want := s.(*Span).Attributes(), []attribute.KeyValue{attribute.Int("of.sampler", 1), attribute.Int("b", 2), attribute.Int("a", 1)}; !slices.Equal(got, want) {
		t.Errorf("the span has %v, want %v", got, want)
	}
}

type samplerFunc func(sdktrace.SamplingParameters) sdktrace.SamplingResult

func (f samplerFunc) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult { return f(p) }
func (samplerFunc) Description() string                                                  { return "func" }

// The rules save the call of a sampler and may not be taken for another one.
func TestRules(t *testing.T) {
	t.Parallel()
	type wrapped struct{ sdktrace.Sampler }
	for _, test := range []struct {
		sampler sdktrace.Sampler
		want    rule
	}{
		{sdktrace.AlwaysSample(), rule{otherwise: keep}},
		{sdktrace.NeverSample(), rule{otherwise: drop}},
		{sdktrace.ParentBased(sdktrace.AlwaysSample()), rule{followParent: true, otherwise: keep}},
		{sdktrace.ParentBased(sdktrace.NeverSample()), rule{followParent: true, otherwise: drop}},
		{describing{sdktrace.AlwaysSample()}, rule{otherwise: keep}},
		{sdktrace.ParentBased(sdktrace.AlwaysSample(), sdktrace.WithRemoteParentSampled(sdktrace.NeverSample())), rule{}},
		{sdktrace.TraceIDRatioBased(0.5), rule{}},
		{wrapped{sdktrace.AlwaysSample()}, rule{}},
		{samplerFunc(nil), rule{}},
	} {
		if got := ruleOf(test.sampler); got != test.want {
			t.Errorf("%T: %+v, want %+v", test.sampler, got, test.want)
		}
	}
}

type describing struct{ sdktrace.Sampler }

func (d describing) Unwrap() sdktrace.Sampler { return d.Sampler }

// watch is a watcher that knows which spans are open.
type watch struct {
	mu   sync.Mutex
	open map[int32]*Span
	next int32
	set  int
}

func (w *watch) SpanOpened(s *Span) int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	w.open[w.next] = s
	return w.next
}

func (w *watch) SpanSet(s *Span, slot int32, attrs []attribute.KeyValue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[slot] == s {
		w.set += len(attrs)
	}
}

func (w *watch) SpanClosed(s *Span, slot int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[slot] == s && !s.IsRecording() {
		delete(w.open, slot)
	}
}

func TestWatcher(t *testing.T) {
	t.Parallel()
	w := &watch{open: make(map[int32]*Span)}
	_, tracer, _ := newTest(Settings{Watcher: w, OpenLimit: 1})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				ctx, a := tracer.Start(context.Background(), "a")
				_, b := tracer.Start(ctx, "b")
				a.SetAttributes(attribute.Int("n", 1), attribute.Int("m", 1))
				a.End()
				a.SetAttributes(attribute.Int("late", 1))
				b.End()
				b.End()
			}
		})
	}
	wg.Wait()
	if len(w.open) != 0 || w.next != 800 || w.set != 800 {
		t.Errorf("%d open of %d, %d attributes set; want 0 of 800 and 800", len(w.open), w.next, w.set)
	}
}

// What waits in a queue keeps neither the context of the caller alive nor other spans.
func TestEndedSpanPinsNothing(t *testing.T) {
	t.Parallel()
	_, tracer, out := newTest(Settings{})
	freed := make(chan struct{})
	func() {
		big := new([1 << 16]byte)
		runtime.AddCleanup(big, func(int) { close(freed) }, 0)
		ctx, parent := tracer.Start(context.WithValue(context.Background(), aKey{}, big), "parent")
		_, child := tracer.Start(ctx, "child")
		child.End()
		parent.End()
	}()
	deadline := time.After(30 * time.Second)
	for done := false; !done; {
		runtime.GC()
		select {
		case <-freed:
			done = true
		case <-deadline:
			t.Fatal("the context is still alive")
		case <-time.After(time.Millisecond):
		}
	}
	if s := out.all(); len(s) != 2 {
		t.Errorf("%v", s)
	}
}

// A context from us behaves as one of package context.
func TestContext(t *testing.T) {
	t.Parallel()
	_, tracer, _ := newTest(Settings{})
	_, never, _ := newTest(Settings{Sampler: sdktrace.NeverSample()})
	for _, tr := range []*Tracer{tracer, never} {
		parent, cancel := context.WithCancelCause(context.WithValue(context.Background(), aKey{}, "kept"))
		ctx, s := tr.Start(parent, "span")
		below, cancelBelow := context.WithCancel(ctx)
		defer cancelBelow()
		if trace.SpanFromContext(below) != s || below.Value(aKey{}) != "kept" {
			t.Error("the span or a value is not found")
		}
		cause := errors.New("cause")
		cancel(cause)
		if context.Cause(below) != cause || ctx.Err() == nil {
			t.Errorf("cause %v", context.Cause(below))
		}
		if text := ctx.(interface{ String() string }).String(); !strings.HasSuffix(text, ".WithSpan") {
			t.Errorf("the context says %q", text)
		}
	}
	if spanKey == nil {
		t.Error("the key of the trace API was not learnt")
	}
}

func TestRuntimeTraceTask(t *testing.T) {
	// Not in parallel: there is one execution tracer.
	if err := rt.Start(io.Discard); err != nil {
		t.Skip("the execution tracer is in use:", err)
	}
	defer rt.Stop()
	_, tracer, _ := newTest(Settings{})
	ctx, s := tracer.Start(t.Context(), "task")
	if s.(*Span).more == nil || s.(*Span).more.endTask == nil {
		t.Fatal("the span is no task")
	}
	if trace.SpanFromContext(ctx) != s {
		t.Error("the context does not carry the span")
	}
	s.End()
	if s.(*Span).more.endTask != nil {
		t.Error("the task goes on")
	}
}

// The SDK's interfaces have methods that *Span gets from an interface that is nil.
// A new one in a later SDK would panic when called.
func TestNoMethodOfTheSDKIsMissing(t *testing.T) {
	t.Parallel()
	own := reflect.TypeFor[*Span]()
	none := reflect.TypeFor[origin]()
	rw := reflect.TypeFor[sdktrace.ReadWriteSpan]()
	_, tracer, _ := newTest(Settings{})
	_, s := tracer.Start(t.Context(), "span")
	for i := range rw.NumMethod() {
		m := rw.Method(i)
		if m.PkgPath != "" {
			continue // kept to the SDK
		}
		if _, ok := none.MethodByName(m.Name); !ok {
			t.Fatalf("%s is not promoted", m.Name)
		}
		have, ok := own.MethodByName(m.Name)
		if !ok {
			t.Errorf("%s is missing", m.Name)
			continue
		}
		if m.Type.NumIn() == 0 { // a promoted one would call the nil interface
			have.Func.Call([]reflect.Value{reflect.ValueOf(s)})
		}
	}
}

func TestTracers(t *testing.T) {
	t.Parallel()
	p, _, _ := newTest(Settings{})
	if p.Tracer("a") != p.Tracer("a") || p.Tracer("a") != trace.Tracer(p.Scope("a")) || p.Tracer("a") == p.Tracer("a", trace.WithInstrumentationVersion("1")) {
		t.Error("one tracer a scope is wanted")
	}
	_, s := p.Tracer("a").Start(t.Context(), "span")
	if err := errors.Join(p.Shutdown(t.Context()), p.Shutdown(t.Context()), p.ForceFlush(t.Context())); err != nil {
		t.Error(err)
	}
	s.SetName("after the shutdown")
	s.End()
	if _, s := p.Tracer("a").Start(t.Context(), "span"); s.IsRecording() {
		t.Error("a tracer made after the shutdown records")
	}
}

type aKey struct{}
