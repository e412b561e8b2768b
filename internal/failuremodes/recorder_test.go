//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/lenslog"
)

// Spans that everybody uses at once, ends several times and goes on using after their
// end, after the shutdown and across the next set-ups. Each arrives once or is counted.
func TestSpansInEveryHandAcrossSetUps(t *testing.T) {
	const rounds, workers = 4, 6
	type held struct {
		ctx  context.Context
		span trace.Span
	}
	var (
		shared [32]atomic.Pointer[held]
		stop   = make(chan struct{})
		wg     sync.WaitGroup
		tracer = lens.Tracer() // of no set-up
		failed = errRefused
	)
	for w := range workers {
		wg.Go(func() {
			for i := w; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				time.Sleep(20 * time.Microsecond) // the receiver is slower than the spans are made
				at := &shared[i%len(shared)]
				h := at.Load()
				if h == nil || i%7 == 0 {
					ctx := context.Background()
					if h != nil {
						ctx = h.ctx
						if i%35 == 0 {
							ctx = context.Background() // chains do not get too long
						}
					}
					var span trace.Span
					switch i % 3 {
					case 0:
						ctx, span = lens.ManagedSpan(ctx, lens.Step, "step", attribute.Int("i", i))
					case 1:
						ctx, span = tracer.Start(ctx, "by the tracer")
					default:
						ctx, span = lens.LinkedSpan(ctx, "linked", trace.SpanContextFromContext(ctx))
					}
					at.Store(&held{ctx, span})
					continue
				}
				switch i % 11 {
				case 0, 1:
					h.span.SetAttributes(attribute.Int(fmt.Sprint("k", i%200), i))
				case 2:
					h.span.AddEvent("event", trace.WithAttributes(attribute.Int("i", i)))
				case 3:
					h.span.AddLink(trace.Link{SpanContext: h.span.SpanContext()})
				case 4:
					h.span.RecordError(failed)
				case 5:
					h.span.SetStatus(otelcodes.Error, "text")
				case 6:
					h.span.SetName(fmt.Sprint("name ", i%5))
				case 7:
					if s, ok := h.span.(sdktrace.ReadOnlySpan); ok {
						_ = tracetest.SpanStubFromReadOnlySpan(s)
					}
				case 8:
					h.span.End(trace.WithTimestamp(time.Now()))
				default:
					lens.End(h.span, &failed)
				}
			}
		})
	}
	for range rounds {
		s := otlptest.Start(t)
		tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
		for range 3 {
			tm.OpenSpans()
			_ = tm.ForceFlush(context.Background())
		}
		require.Eventually(t, func() bool { return tm.Stats().Exported > 0 }, limit, time.Millisecond)
		err := tm.Shutdown(context.Background())
		st := tm.Stats()
		lost := st.Dropped + st.Failed
		require.Equal(t, lost > 0, err != nil, "%+v: %v", st, err)
		require.EqualValues(t, st.Exported, s.Count(otlptest.Traces), "%+v", st)
		seen := map[trace.SpanID]bool{}
		for _, span := range s.Spans() {
			require.False(t, seen[span.SpanID], "span %s arrived twice", span.SpanID)
			seen[span.SpanID] = true
		}
	}
	close(stop)
	wg.Wait()
}

type (
	panickingContext struct{ context.Context }
	oddContext       struct{ context.Context } // whose values are of no expected type
	startingContext  struct{ context.Context } // that starts a span to answer
	deadContext      struct{ context.Context } // whose other methods panic
)

func (panickingContext) Value(any) any { panic("no values here") }
func (oddContext) Value(any) any       { return 7 }
func (c startingContext) Value(key any) any {
	_, span := lens.ManagedSpan(c, lens.Step, "asked for a value")
	defer span.End()
	return c.Context.Value(key)
}
func (deadContext) Err() error            { panic("no error here") }
func (deadContext) Done() <-chan struct{} { panic("never done") }
func (*panickingPointer) Value(any) any   { panic("nil") }

type panickingPointer struct{ context.Context }

func programContexts() map[string]context.Context {
	ctx := context.Background()
	return map[string]context.Context{
		"panics": panickingContext{ctx}, "odd": oddContext{ctx}, "starts spans": startingContext{ctx}, "dead": deadContext{ctx},
		"nil pointer": (*panickingPointer)(nil), "below": context.WithValue(panickingContext{ctx}, errRefused, 1),
	}
}

// A context of the application's own type costs its span the parent at most, also one
// that starts spans to answer.
func TestContextsOfTheProgram(t *testing.T) {
	for name, ctx := range programContexts() {
		for _, groups := range []string{"all", ""} {
			t.Run(name+" "+groups, func(t *testing.T) {
				s := otlptest.Start(t)
				tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), func(c *lens.Config) { c.SpanGroups = groups }))
				failed := fmt.Errorf("step: %w", errRefused)
				for what, start := range map[string]func() (context.Context, trace.Span){
					"managed": func() (context.Context, trace.Span) { return lens.ManagedSpan(ctx, lens.Step, "span") },
					"with": func() (context.Context, trace.Span) {
						return lens.ManagedSpanWith(ctx, lens.Step, "span", trace.WithNewRoot())
					},
					"cm":     func() (context.Context, trace.Span) { return lens.SpanCM(ctx, "span") },
					"tracer": func() (context.Context, trace.Span) { return lens.Tracer().Start(ctx, "span") },
					"handle": func() (context.Context, trace.Span) { return tm.Tracer().Start(ctx, "span") },
					"library": func() (context.Context, trace.Span) {
						return lens.GroupTracerProvider(lens.Step).Tracer("library").Start(ctx, "span")
					},
				} {
					require.NotPanics(t, func() {
						below, span := start()
						require.True(t, below != nil)
						err := failed
						lens.End(span, &err)
						require.Equal(t, failed, err)
					}, what)
				}
				require.NotPanics(t, func() {
					carrier := map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
					lens.InjectContext(ctx, map[string]string{})
					lens.SerializeContext(ctx)
					lens.InjectEnv(ctx, nil)
					require.NotNil(t, lens.ExtractContext(ctx, carrier))
					require.NotNil(t, lens.DeserializeContext(ctx, []byte(`{"traceparent":"`+carrier["traceparent"]+`"}`)))
					require.NoError(t, lenslog.NewHandler(slog.DiscardHandler).Handle(ctx, slog.Record{}))
				}, "carriers and logs")
				require.NotPanics(t, func() {
					_, span := lens.ManagedSpan(lens.WithSpanAttributes(ctx, attribute.Int("scoped", 1)), lens.Step, "span")
					span.End()
					_, span = lens.ManagedSpan(lens.WithTracer(ctx, lens.Tracer()), lens.Step, "span")
					span.End()
					require.Equal(t, failed, lens.TraceErrFn(lens.Step, "span", func(context.Context) error { return failed })(ctx))
				})
				require.NoError(t, tm.Shutdown(context.Background()))
				requireBalance(t, tm.Stats(), tm.Stats().Exported)
				if groups == "all" {
					require.GreaterOrEqual(t, s.Count(otlptest.Traces), 7)
				}
			})
		}
	}
}

// Whatever a value is, its span arrives.
func TestValuesOfEveryKindArrive(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	const megabytes = 3 << 20
	huge := strings.Repeat("é", megabytes/2)
	deep := attribute.StringValue("bottom\xff")
	for range 200 {
		deep = attribute.SliceValue(deep, attribute.MapValue(attribute.String("k\xff", "v\xff")))
	}
	_, span := lens.ManagedSpan(context.Background(), lens.Step, huge,
		attribute.Float64("nan", math.NaN()), attribute.Float64Slice("infinite", []float64{math.Inf(1), math.Inf(-1), math.NaN()}),
		attribute.String("bad\xff", "\xff\xfe"), attribute.String(huge[:3000], huge), attribute.ByteSlice("bytes", []byte{0, 255}),
		attribute.StringSlice("texts", []string{huge, "\xff"}), attribute.Int64Slice("ints", []int64{math.MinInt64}),
		attribute.BoolSlice("none", nil), attribute.KeyValue{Key: "deep", Value: deep}, attribute.KeyValue{Key: "empty"},
		attribute.KeyValue{Value: attribute.IntValue(1)})
	span.AddEvent(huge, trace.WithAttributes(attribute.String("text", huge)))
	span.SetStatus(otelcodes.Error, huge+"\xff")
	span.SetName("\xff" + huge)
	span.End()
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Len(t, s.Spans(), 1)
	got := s.Spans()[0]
	require.Equal(t, "\uFFFD", got.Name[:3])
	require.Less(t, len(got.Name), 200<<10)
	require.True(t, math.IsNaN(got.Attributes["nan"].(float64)))
	require.Equal(t, "\uFFFD", got.Attributes["bad\uFFFD"])
	require.Contains(t, got.Attributes, "deep")
	require.Contains(t, got.Attributes, "empty")
	require.Contains(t, tm.log.String(), "repaired")
}

// panicking is a span processor that fails in every method.
type panicking struct{ calls atomic.Int64 }

func (p *panicking) OnStart(context.Context, sdktrace.ReadWriteSpan) { p.calls.Add(1); panic("start") }
func (p *panicking) OnEnd(sdktrace.ReadOnlySpan)                     { p.calls.Add(1); panic("end") }
func (p *panicking) Shutdown(context.Context) error                  { p.calls.Add(1); panic("shutdown") }
func (p *panicking) ForceFlush(context.Context) error                { p.calls.Add(1); panic("flush") }

// An exporter of the program sees all that a span has, beside a processor that fails.
func TestAnExporterOfTheProgramSeesWholeSpans(t *testing.T) {
	t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3")
	t.Setenv("OTEL_SPAN_EVENT_COUNT_LIMIT", "2")
	t.Setenv("OTEL_SPAN_LINK_COUNT_LIMIT", "1")
	t.Setenv("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "1")
	t.Setenv("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "1")
	kept, bad := tracetest.NewInMemoryExporter(), &panicking{}
	tm := setUp(t, config(), lens.WithSpanExporter(keeping{kept}), lens.WithSpanProcessor(bad),
		lens.WithResourceAttributes(attribute.String("of.the", "resource")))
	state, err := trace.ParseTraceState("vendor=1")
	require.NoError(t, err)
	remote := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true})
	at := time.Now().Add(-time.Hour).Round(0)
	ctx, span := lens.ManagedSpanWith(trace.ContextWithRemoteSpanContext(context.Background(), remote), lens.Step, "span",
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(at), trace.WithAttributes(attribute.Int("a", 1), attribute.Int("b", 2)))
	span.SetAttributes(attribute.Int("c", 3), attribute.Int("d", 4), attribute.Int("e", 5), attribute.Int("a", 10))
	two := trace.WithAttributes(attribute.Int("x", 1), attribute.Int("y", 2))
	for i := range 5 {
		span.AddEvent(fmt.Sprint("event ", i), two, trace.WithTimestamp(at.Add(time.Duration(i))))
		span.AddLink(trace.Link{SpanContext: remote, Attributes: []attribute.KeyValue{attribute.Int("i", i), attribute.Int("dropped", i)}})
	}
	for range 3 {
		_, child := lens.ManagedSpan(ctx, lens.Step, "child")
		child.End()
	}
	span.SetStatus(otelcodes.Error, "it broke")
	span.End(trace.WithTimestamp(at.Add(time.Minute)))
	require.Error(t, tm.Shutdown(context.Background()), "the processor's panic is said")
	require.EqualValues(t, 4+4+1, bad.calls.Load())
	requireBalance(t, tm.Stats(), 4)

	spans := kept.GetSpans()
	require.Len(t, spans, 4)
	got := spans[3]
	require.Equal(t, "span", got.Name)
	require.Equal(t, trace.SpanKindClient, got.SpanKind)
	require.True(t, got.Parent.Equal(remote))
	require.Equal(t, remote.TraceID(), got.SpanContext.TraceID())
	require.Equal(t, state, got.SpanContext.TraceState())
	require.True(t, got.StartTime.Equal(at))
	require.True(t, got.EndTime.Equal(at.Add(time.Minute)))
	require.Equal(t, []attribute.KeyValue{attribute.Int("a", 10), attribute.Int("b", 2), attribute.Int("c", 3)}, got.Attributes)
	require.Equal(t, []sdktrace.Event{
		{Name: "event 3", Attributes: []attribute.KeyValue{attribute.Int("x", 1)}, DroppedAttributeCount: 1, Time: at.Add(3)},
		{Name: "event 4", Attributes: []attribute.KeyValue{attribute.Int("x", 1)}, DroppedAttributeCount: 1, Time: at.Add(4)}}, got.Events)
	require.Equal(t, []sdktrace.Link{{SpanContext: remote, Attributes: []attribute.KeyValue{attribute.Int("i", 4)}, DroppedAttributeCount: 1}}, got.Links)
	require.Equal(t, []int{2, 3, 4, 3}, []int{got.DroppedAttributes, got.DroppedEvents, got.DroppedLinks, got.ChildSpanCount})
	require.Equal(t, sdktrace.Status{Code: otelcodes.Error, Description: "it broke"}, got.Status)
	require.Equal(t, "nemo.lens.helpers", got.InstrumentationScope.Name)
	v, _ := got.Resource.Set().Value("of.the")
	require.Equal(t, "resource", v.AsString())
}

// keeping keeps its spans after the shutdown.
type keeping struct{ *tracetest.InMemoryExporter }

func (keeping) Shutdown(context.Context) error { return nil }

// A cause of the program's own is a cancellation in every span that was started in the
// context that it cancelled, and in no other.
func TestFieldD9ACauseOfTheProgramsOwn(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	stop := errors.New("the operator has stopped the run")
	run := func(name string, start func(context.Context) (context.Context, trace.Span), result func(context.Context) error) {
		ctx, cancel := context.WithCancelCause(context.Background())
		_ = func() (err error) {
			ctx, span := start(ctx)
			defer lens.End(span, &err)
			span.SetName(name)
			cancel(stop)
			return result(ctx)
		}()
	}
	managed := func(ctx context.Context) (context.Context, trace.Span) { return lens.ManagedSpan(ctx, lens.Step, "") }
	run("cause", managed, context.Cause)
	run("wrapped", managed, func(ctx context.Context) error { return fmt.Errorf("step 7: %w", context.Cause(ctx)) })
	run("handed through detached work", managed, func(ctx context.Context) error {
		cause := context.Cause(ctx)
		return func(context.Context) error { return fmt.Errorf("clean-up: %w", cause) }(lens.Detach(ctx))
	})
	run("with options", func(ctx context.Context) (context.Context, trace.Span) {
		return lens.ManagedSpanWith(ctx, lens.Step, "", trace.WithNewRoot())
	}, context.Cause)
	run("below a span", func(ctx context.Context) (context.Context, trace.Span) {
		outer, span := lens.SpanCM(ctx, "outer")
		defer span.End()
		return lens.ManagedSpan(context.WithValue(outer, errRefused, 1), lens.Step, "")
	}, context.Cause)
	run("failed: another error", managed, func(context.Context) error { return errRefused })
	// Nothing has cancelled the detached work, so that its error is one.
	run("failed: detached before", func(ctx context.Context) (context.Context, trace.Span) {
		return lens.ManagedSpan(lens.Detach(ctx), lens.Step, "")
	}, func(context.Context) error { return stop })
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Len(t, s.Spans(), 8)
	for _, span := range s.Spans() {
		require.Equal(t, strings.HasPrefix(span.Name, "failed"), span.StatusMessage != "", span.Name)
		require.Equal(t, strings.HasPrefix(span.Name, "failed"), len(span.Events) == 1, span.Name)
	}
}
