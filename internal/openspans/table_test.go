package openspans

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

// pipeline is a provider with t first and a recorder of ended spans behind it.
func pipeline(t *Table, more ...sdktrace.TracerProviderOption) (trace.Tracer, *tracetest.SpanRecorder) {
	rec := tracetest.NewSpanRecorder()
	opts := append([]sdktrace.TracerProviderOption{
		sdktrace.WithSpanProcessor(t), sdktrace.WithSpanProcessor(rec), sdktrace.WithSampler(sdktrace.AlwaysSample()),
	}, more...)
	return sdktrace.NewTracerProvider(opts...).Tracer("test"), rec
}

func names(spans []sdktrace.ReadOnlySpan) []string {
	var n []string
	for _, s := range spans {
		n = append(n, s.Name())
	}
	return n
}

func TestEndedSpansLeaveTheTable(t *testing.T) {
	t.Parallel()
	table := New()
	tracer, _ := pipeline(table)
	for i := range 10_000 {
		ctx, parent := tracer.Start(t.Context(), "parent")
		_, child := tracer.Start(ctx, "child")
		if i == 0 && table.Len() != 2 {
			t.Errorf("2 spans open, table has %d", table.Len())
		}
		child.End()
		child.End()
		parent.End()
	}
	if table.Len() != 0 || table.Started() != 20_000 || table.Ended() != 20_000 {
		t.Errorf("open %d, started %d, ended %d; want 0, 20000, 20000", table.Len(), table.Started(), table.Ended())
	}
	if n := table.CloseAll(t.Context()); n != 0 {
		t.Errorf("closed %d spans, want none", n)
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	table := New()
	tracer, _ := pipeline(table)
	at := time.Now()
	ctx, job := tracer.Start(t.Context(), "job", trace.WithTimestamp(at), trace.WithAttributes(attribute.Int("rank", 3)))
	_, step := tracer.Start(ctx, "step", trace.WithTimestamp(at.Add(time.Second)))
	_, gone := tracer.Start(ctx, "gone")
	table.SetGroup(job.SpanContext().SpanID(), "job")
	table.SetGroup(step.SpanContext().SpanID(), "step")
	gone.End()
	table.SetGroup(gone.SpanContext().SpanID(), "late")
	step.SetName("step 7")

	got := table.Snapshot()
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
	if table.Snapshot()[0].Attributes[0].Value.AsInt64() != 3 {
		t.Error("a change of the snapshot reached the span")
	}
	step.End()
	job.End()
}

func TestCloseAll(t *testing.T) {
	t.Parallel()
	table := New()
	tracer, rec := pipeline(table)
	ctx, job := tracer.Start(t.Context(), "job")
	ctx, step := tracer.Start(ctx, "step")
	step.SetStatus(codes.Error, "diverged")
	_, inner := tracer.Start(ctx, "inner")
	_, ended := tracer.Start(ctx, "ended")
	ended.End()
	if table.ForceFlush(t.Context()); table.Len() != 3 {
		t.Errorf("a flush ended spans: %d open, want 3", table.Len())
	}

	if n := table.CloseAll(t.Context()); n != 3 {
		t.Errorf("closed %d spans, want 3", n)
	}
	if got, want := names(rec.Ended()), []string{"ended", "inner", "step", "job"}; !slices.Equal(got, want) {
		t.Errorf("ended in the order %v, want %v", got, want)
	}
	for _, s := range rec.Ended() {
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
	end := rec.Ended()[1].EndTime()
	for _, s := range rec.Ended()[1:] {
		if !s.EndTime().Equal(end) || s.EndTime().Before(s.StartTime()) {
			t.Errorf("%s ended at %v, started at %v; the innermost ended at %v", s.Name(), s.EndTime(), s.StartTime(), end)
		}
	}

	// The program ends its spans after all, and starts more.
	inner.End()
	step.End()
	job.End()
	var late []trace.Span
	for range 1000 {
		_, s := tracer.Start(t.Context(), "late")
		late = append(late, s)
	}
	if table.Len() != 0 {
		t.Errorf("%d spans tracked after CloseAll", table.Len())
	}
	if n := table.CloseAll(t.Context()); n != 0 || !late[0].IsRecording() {
		t.Errorf("the second CloseAll ended %d spans", n)
	}
	if n := len(rec.Ended()); n != 4 {
		t.Errorf("%d spans were exported, want each of 4 once", n)
	}
	for _, s := range late {
		s.End()
	}
	if table.Started() != 1004 || table.Ended() != 1004 {
		t.Errorf("started %d, ended %d, want 1004", table.Started(), table.Ended())
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
		table := New()
		tracer, rec := pipeline(table)
		a, _ := tracer.Start(t.Context(), "a", trace.WithTimestamp(starts[0]))
		b, _ := tracer.Start(a, "b", trace.WithTimestamp(starts[1]))
		tracer.Start(b, "c", trace.WithTimestamp(starts[2]))
		tracer.Start(t.Context(), "unrelated", trace.WithTimestamp(now.Add(-24*time.Hour)))
		table.CloseAll(t.Context())
		if got, want := names(rec.Ended()), []string{"c", "b", "a", "unrelated"}; !slices.Equal(got, want) {
			t.Errorf("%s: order %v, want %v", name, got, want)
		}
		ends := rec.Ended()
		for i, s := range ends {
			if s.EndTime().Round(0).Before(s.StartTime().Round(0)) {
				t.Errorf("%s: %s ends before it starts", name, s.Name())
			}
			if i > 0 && i < 3 && ends[i-1].EndTime().After(s.EndTime()) {
				t.Errorf("%s: %s ends before its child", name, s.Name())
			}
		}
	}
}

type panicOnEnd struct{ sdktrace.SpanProcessor }

func (panicOnEnd) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (panicOnEnd) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.Name() == "bad" {
		panic("processor")
	}
}

func TestCloseAllSurvivesPanics(t *testing.T) {
	t.Parallel()
	table := New()
	tracer, rec := pipeline(table, sdktrace.WithSpanProcessor(panicOnEnd{}))
	tracer.Start(t.Context(), "good 1")
	tracer.Start(t.Context(), "bad")
	tracer.Start(t.Context(), "good 2")
	if n := table.CloseAll(t.Context()); n != 3 || len(rec.Ended()) != 3 || table.Len() != 0 {
		t.Errorf("closed %d, exported %v, open %d", n, names(rec.Ended()), table.Len())
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
	table := New()
	st := stall{entered: make(chan struct{}, 3), leave: make(chan struct{})}
	tracer, rec := pipeline(table, sdktrace.WithSpanProcessor(st))
	tracer.Start(t.Context(), "first")
	tracer.Start(t.Context(), "second")

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-st.entered
		cancel()
	}()
	err := table.Shutdown(ctx)
	if err == nil || table.Len() != 1 {
		t.Errorf("error %v with %d spans open, want an error and the first span open", err, table.Len())
	}
	close(st.leave)
	if n := table.CloseAll(t.Context()); n != 0 {
		t.Errorf("a second call ended %d spans", n)
	}
	if got := names(rec.Ended()); !slices.Equal(got, []string{"second"}) {
		t.Errorf("ended %v, want the second only: the time was up", got)
	}
}

func TestConcurrentCloseAllWaits(t *testing.T) {
	t.Parallel()
	table := New()
	st := stall{entered: make(chan struct{}, 1), leave: make(chan struct{})}
	tracer, rec := pipeline(table, sdktrace.WithSpanProcessor(st))
	tracer.Start(t.Context(), "span")
	total := make(chan int)
	for range 2 {
		go func() {
			n := table.CloseAll(context.Background())
			if len(rec.Ended()) != 1 {
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

func TestLimit(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var table *Table
	var tracer trace.Tracer
	table = NewLimited(1000, func(limit int) {
		calls.Add(1)
		if limit != 1024 {
			t.Errorf("told of a limit of %d, want 1000 rounded up to 1024", limit)
		}
		_, s := tracer.Start(context.Background(), "from the callback")
		s.End()
	})
	tracer, _ = pipeline(table)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1250 {
				tracer.Start(context.Background(), "never ended")
			}
		})
	}
	wg.Wait()
	if n := table.Len(); n > 1024 || n < 900 {
		t.Errorf("%d spans tracked, want at most 1024 and about as many", n)
	}
	if calls.Load() != 1 {
		t.Errorf("told %d times, want once", calls.Load())
	}
	if table.Started() != 10_001 || table.Ended() != 1 {
		t.Errorf("started %d, ended %d, want 10001 and 1", table.Started(), table.Ended())
	}
	slots := 0
	for i := range table.shards {
		slots += len(table.shards[i].slots)
	}
	if slots > 2*1024 {
		t.Errorf("%d slots for at most 1024 spans", slots)
	}
	before := table.Len()
	if n := table.CloseAll(t.Context()); n != before {
		t.Errorf("closed %d, want %d", n, before)
	}
}

// ids gives the same few span ids again and again, also the invalid one.
type ids struct{ n atomic.Uint64 }

func (g *ids) NewIDs(ctx context.Context) (tid trace.TraceID, _ trace.SpanID) {
	binary.BigEndian.PutUint64(tid[8:], g.n.Load()/16+1)
	return tid, g.NewSpanID(ctx, tid)
}

func (g *ids) NewSpanID(context.Context, trace.TraceID) (sid trace.SpanID) {
	sid[7] = byte(g.n.Add(1) % 16)
	return sid
}

func TestPoorIDs(t *testing.T) {
	t.Parallel()
	table := New()
	tracer, rec := pipeline(table, sdktrace.WithIDGenerator(&ids{}))
	var spans []trace.Span
	for i := range 160 {
		_, s := tracer.Start(t.Context(), fmt.Sprint(i))
		spans = append(spans, s)
	}
	for _, i := range rand.Perm(160)[:80] {
		spans[i].End()
		if table.Len() != 160-len(rec.Ended()) {
			t.Fatalf("%d tracked after %d of 160 ended", table.Len(), len(rec.Ended()))
		}
	}
	for _, o := range table.Snapshot() {
		for _, s := range rec.Ended() {
			if s.Name() == o.Name {
				t.Errorf("span %s has ended and is tracked", o.Name)
			}
		}
	}
	if n := table.CloseAll(t.Context()); n != 80 || len(rec.Ended()) != 160 {
		t.Errorf("closed %d, exported %d; want 80 and 160", n, len(rec.Ended()))
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	table := New()
	tracer, rec := pipeline(table)
	var wg sync.WaitGroup
	var left atomic.Int64
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				ctx, parent := tracer.Start(context.Background(), "parent")
				_, child := tracer.Start(ctx, "child", trace.WithAttributes(attribute.Int("i", i)))
				table.SetGroup(child.SpanContext().SpanID(), "group")
				child.SetAttributes(attribute.Int("j", i))
				child.End()
				if i%10 == 0 {
					left.Add(1)
					continue
				}
				parent.End()
			}
		})
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, o := range table.Snapshot() {
					if o.Name == "" || !o.SpanID.IsValid() {
						t.Errorf("incomplete: %+v", o)
						return
					}
				}
			}
		}
	})
	wg.Wait()
	close(stop)
	readers.Wait()
	if n := table.CloseAll(t.Context()); int64(n) != left.Load() || len(rec.Ended()) != 8000 {
		t.Errorf("closed %d of %d, exported %d of 8000", n, left.Load(), len(rec.Ended()))
	}
}

// Spans keep starting while the table closes: each is ended by somebody, once.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	table := New()
	tracer, rec := pipeline(table)
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
	n := table.CloseAll(t.Context())
	wg.Wait()
	if table.Len() != 0 || n == 0 {
		t.Errorf("%d tracked after CloseAll, which ended %d", table.Len(), n)
	}
	seen := make(map[trace.SpanID]bool)
	for _, s := range rec.Ended() {
		if id := s.SpanContext().SpanID(); seen[id] {
			t.Fatalf("span %s exported twice", id)
		} else {
			seen[id] = true
		}
	}
	if got := table.Ended(); got != uint64(len(rec.Ended())) {
		t.Errorf("counted %d ended, %d were", got, len(rec.Ended()))
	}
}

// The shard against a map, with ids chosen to collide.
func FuzzShard(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0x81, 4, 0x82})
	f.Add([]byte{0, 0, 0x80, 0x80, 127, 0xff})
	tracer, _ := pipeline(New())
	_, span := tracer.Start(context.Background(), "span")
	rw := span.(sdktrace.ReadWriteSpan)
	f.Fuzz(func(t *testing.T, ops []byte) {
		var s shard
		s.init(100)
		want := map[uint64]bool{}
		for _, op := range ops {
			id := uint64(op&0x7f) << 57 // few distinct low bits of the hash
			h := hash(id)
			if op&0x80 == 0 {
				if want[id] {
					continue
				}
				if s.insert(id, h, rw) {
					want[id] = true
				} else if len(want) < 100 {
					t.Fatalf("refused with %d of 100", len(want))
				}
			} else {
				s.remove(id, h, span.SpanContext().TraceID())
				delete(want, id)
			}
			if s.used != len(want) || len(s.appendTo(nil)) != len(want) {
				t.Fatalf("holds %d (%d), want %d", s.used, len(s.appendTo(nil)), len(want))
			}
			for id := range want {
				if s.find(id, hash(id)) < 0 {
					t.Fatalf("lost %x", id)
				}
			}
		}
	})
}
