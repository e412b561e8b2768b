package record

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// shelf is a sink as a queue is one: a lock and a slice that is used again.
type shelf struct {
	mu    sync.Mutex
	spans []*Span
}

func (q *shelf) put(s *Span) {
	q.mu.Lock()
	if len(q.spans) == 2048 {
		clear(q.spans)
		q.spans = q.spans[:0]
	}
	q.spans = append(q.spans, s)
	q.mu.Unlock()
}

type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

func ours(sampler sdktrace.Sampler) trace.Tracer {
	return New(Settings{Limits: sdktrace.NewSpanLimits(), Sampler: sampler, Sink: new(shelf).put, OpenLimit: 1 << 24}).Tracer("bench")
}

func theirs(tb testing.TB, sampler sdktrace.Sampler) trace.Tracer {
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discard{}), sdktrace.WithSampler(sampler))
	tb.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p.Tracer("bench")
}

// site is what a program does for one span. Each has lens's way, where it has
// one, and the API's.
type site struct {
	name string
	site func(t trace.Tracer, ctx context.Context)
	ours func(t *Tracer, ctx context.Context) // nil: as site
}

var eight = []attribute.KeyValue{
	attribute.Int("a", 1), attribute.Int("b", 2), attribute.String("c", "three"), attribute.Bool("d", true),
	attribute.Int("e", 5), attribute.Float64("f", 6), attribute.String("g", "seven"), attribute.Int("h", 8),
}

var errBench = errors.New("it broke")

//go:noinline
func startTwo(t trace.Tracer, ctx context.Context, i int) (context.Context, trace.Span) {
	return t.Start(ctx, "train.step", trace.WithAttributes(attribute.Int("dl.iteration", i), attribute.String("dl.phase", "train")))
}

//go:noinline
func startTwoOurs(t *Tracer, ctx context.Context, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	return t.StartSpan(ctx, "step", "train.step", trace.SpanKindInternal, attrs)
}

func twoOurs(t *Tracer, ctx context.Context, i int) (context.Context, trace.Span) {
	return startTwoOurs(t, ctx, attribute.Int("dl.iteration", i), attribute.String("dl.phase", "train"))
}

var sites = []site{
	{"two attributes", func(t trace.Tracer, ctx context.Context) {
		_, s := startTwo(t, ctx, 7)
		s.End()
	}, func(t *Tracer, ctx context.Context) {
		_, s := twoOurs(t, ctx, 7)
		s.End()
	}},
	{"two attributes by the API", func(t trace.Tracer, ctx context.Context) {
		_, s := startTwo(t, ctx, 7)
		s.End()
	}, nil},
	{"no attributes", func(t trace.Tracer, ctx context.Context) {
		_, s := t.Start(ctx, "train.step")
		s.End()
	}, nil},
	{"eight attributes", func(t trace.Tracer, ctx context.Context) {
		_, s := t.Start(ctx, "train.step", trace.WithAttributes(eight...))
		s.End()
	}, func(t *Tracer, ctx context.Context) {
		_, s := t.StartSpan(ctx, "step", "train.step", trace.SpanKindInternal, eight)
		s.End()
	}},
	{"five deep", func(t trace.Tracer, ctx context.Context) {
		var spans [5]trace.Span
		for i := range spans {
			ctx, spans[i] = startTwo(t, ctx, i)
		}
		for _, s := range spans {
			s.End()
		}
	}, func(t *Tracer, ctx context.Context) {
		var spans [5]trace.Span
		for i := range spans {
			ctx, spans[i] = twoOurs(t, ctx, i)
		}
		for _, s := range spans {
			s.End()
		}
	}},
	{"an error", func(t trace.Tracer, ctx context.Context) {
		_, s := startTwo(t, ctx, 7)
		s.RecordError(errBench)
		s.SetStatus(codes.Error, "it broke")
		s.End()
	}, func(t *Tracer, ctx context.Context) {
		_, s := twoOurs(t, ctx, 7)
		s.RecordError(errBench)
		s.SetStatus(codes.Error, "it broke")
		s.End()
	}},
	{"three events", func(t trace.Tracer, ctx context.Context) {
		_, s := startTwo(t, ctx, 7)
		for range 3 {
			s.AddEvent("checkpoint")
		}
		s.End()
	}, func(t *Tracer, ctx context.Context) {
		_, s := twoOurs(t, ctx, 7)
		for range 3 {
			s.AddEvent("checkpoint")
		}
		s.End()
	}},
	{"a link", func(t trace.Tracer, ctx context.Context) {
		_, s := t.Start(ctx, "train.step", trace.WithLinks(trace.Link{SpanContext: remote}),
			trace.WithAttributes(attribute.Int("dl.iteration", 7), attribute.String("dl.phase", "train")))
		s.End()
	}, nil},
}

var remote = trace.NewSpanContext(trace.SpanContextConfig{
	TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true,
})

func (st site) on(t trace.Tracer) func(context.Context) {
	if o, ok := t.(*Tracer); ok && st.ours != nil {
		return func(ctx context.Context) { st.ours(o, ctx) }
	}
	return func(ctx context.Context) { st.site(t, ctx) }
}

// BenchmarkAgainstSDK reports, for each kind of span, our time and bytes as parts
// of the SDK's with its batch processor, taken in turns.
func BenchmarkAgainstSDK(b *testing.B) {
	for _, st := range sites {
		b.Run(st.name, func(b *testing.B) {
			ratio(b, st.on(ours(sdktrace.AlwaysSample())), st.on(theirs(b, sdktrace.AlwaysSample())), 1)
		})
	}
	b.Run("two attributes, 8 goroutines", func(b *testing.B) {
		ratio(b, sites[0].on(ours(sdktrace.AlwaysSample())), sites[0].on(theirs(b, sdktrace.AlwaysSample())), 8)
	})
	b.Run("not sampled", func(b *testing.B) {
		ratio(b, sites[0].on(ours(sdktrace.NeverSample())), sites[0].on(theirs(b, sdktrace.NeverSample())), 1)
	})
	b.Run("not sampled by the API", func(b *testing.B) {
		ratio(b, sites[1].on(ours(sdktrace.NeverSample())), sites[1].on(theirs(b, sdktrace.NeverSample())), 1)
	})
}

// ratio takes turns, so that what else the machine does falls on both alike, and
// reports the median turn of each.
func ratio(b *testing.B, ours, theirs func(context.Context), goroutines int) {
	const turn = 2000
	var spent [2][]time.Duration
	var allocated, allocs [2]uint64
	for range (b.N + turn - 1) / turn {
		for i, do := range []func(context.Context){ours, theirs} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for range turn / goroutines {
						do(context.Background())
					}
				})
			}
			wg.Wait()
			spent[i] = append(spent[i], time.Since(start))
			runtime.ReadMemStats(&after)
			allocated[i] += after.TotalAlloc - before.TotalAlloc
			allocs[i] += after.Mallocs - before.Mallocs
		}
	}
	var median [2]float64
	for i := range spent {
		slices.Sort(spent[i])
		median[i] = float64(spent[i][len(spent[i])/2]) / turn
	}
	n := float64(len(spent[0]) * turn)
	b.ReportMetric(median[0]/median[1], "time/SDK")
	b.ReportMetric(float64(allocated[0])/float64(allocated[1]), "bytes/SDK")
	b.ReportMetric(median[0], "our-ns/op")
	b.ReportMetric(median[1], "SDK-ns/op")
	b.ReportMetric(float64(allocs[0])/n, "our-allocs")
	b.ReportMetric(float64(allocs[1])/n, "SDK-allocs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOpen reports the memory of a million open spans with two attributes,
// each with its context, as a part of the SDK's.
func BenchmarkOpen(b *testing.B) {
	ours := openBytes(ours(sdktrace.AlwaysSample()), 1_000_000)
	theirs := openBytes(theirs(b, sdktrace.AlwaysSample()), 1_000_000)
	for b.Loop() {
	}
	b.ReportMetric(ours, "our-B/span")
	b.ReportMetric(theirs, "SDK-B/span")
	b.ReportMetric(ours/theirs, "bytes/SDK")
	b.ReportMetric(0, "ns/op")
}

// openBytes returns what one of n open spans takes on the heap, with the context
// that a program holds beside it.
func openBytes(t trace.Tracer, n int) float64 {
	held := make([]context.Context, n)
	for i := range 100 {
		held[i], _ = startTwo(t, context.Background(), i) // what is made once
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range held {
		held[i], _ = startTwo(t, context.Background(), i)
	}
	taken := heap() - before
	for i := range held {
		trace.SpanFromContext(held[i]).End()
	}
	return float64(taken) / float64(n)
}
