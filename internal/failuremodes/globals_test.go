//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// These exist before any set-up, as package variables of programs do.
var (
	earlyTracer  = otel.Tracer("early")
	earlyLens    = lens.Tracer()
	earlyLibrary = lens.GroupTracerProvider(lens.Step).Tracer("library")
	earlyFn      = lens.TraceErrFn(lens.Step, "wrapped", func(context.Context) error { return nil })
)

func TestD1OnePipelineAtATime(t *testing.T) {
	s := otlptest.Start(t)
	cfg := config(to(grpcProtocol, s.GRPCURL()))
	first := setUp(t, cfg)
	_, err := trySetUp(t, cfg)
	require.ErrorIs(t, err, lens.ErrAlreadySetUp)
	makeSpans(1)
	require.NoError(t, first.Shutdown(context.Background()))
	require.Equal(t, 1, s.Count(otlptest.Traces))
	second := setUp(t, cfg)
	makeSpans(1)
	require.NoError(t, first.Shutdown(context.Background()), "of no effect on the second")
	makeSpans(1)
	require.NoError(t, second.Shutdown(context.Background()))
	require.Equal(t, 3, s.Count(otlptest.Traces))

	t.Run("from 20 goroutines", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		for range 5 {
			s.Reset()
			var handles [20]*lens.TelemetryHandle
			var errs [20]error
			var wg sync.WaitGroup
			for i := range handles {
				wg.Go(func() {
					handles[i], errs[i] = lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(slog.New(slog.DiscardHandler)))
				})
			}
			wg.Wait()
			makeSpans(3)
			winners := 0
			for i, h := range handles {
				if errs[i] == nil {
					winners++
					require.NoError(t, h.Shutdown(context.Background()))
					continue
				}
				require.ErrorIs(t, errs[i], lens.ErrAlreadySetUp)
				require.Nil(t, h)
			}
			require.Equal(t, 1, winners)
			require.Equal(t, 3, s.Count(otlptest.Traces))
		}
		requireNoLeak(t, before)
	})
	t.Run("set-up and shutdown race", func(t *testing.T) {
		s.Reset()
		var made, exported atomic.Uint64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 25 {
					h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(slog.New(slog.DiscardHandler)))
					if err != nil {
						if !errors.Is(err, lens.ErrAlreadySetUp) {
							t.Error(err)
						}
						continue
					}
					_, span := h.Tracer().Start(context.Background(), "x")
					span.End()
					made.Add(1)
					if err := h.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
					exported.Add(h.Stats().Exported)
				}
			})
		}
		wg.Wait()
		require.Equal(t, made.Load(), exported.Load())
		require.EqualValues(t, made.Load(), s.Count(otlptest.Traces))
		require.Zero(t, lens.EnabledSpanGroups().Len())
	})
}

func TestD1ASecondSetUpOutlivesTheFirst(t *testing.T) {
	globals(t)
	s := otlptest.Start(t)
	cfg := config(to(grpcProtocol, s.GRPCURL()))
	before := otel.GetTracerProvider()
	first := setUp(t, cfg, lens.WithAllowReinit())
	second := setUp(t, cfg, lens.WithAllowReinit())
	require.NoError(t, first.Shutdown(context.Background()))
	_, span := otel.Tracer("library").Start(context.Background(), "through the global")
	span.End()
	makeSpans(1)
	require.NoError(t, second.Shutdown(context.Background()))
	require.Equal(t, map[string]int{"through the global": 1, "step": 1}, namesOf(s.Spans()))
	require.Equal(t, before, otel.GetTracerProvider())
}

func TestD1FiftyCyclesLeaveNothing(t *testing.T) {
	s := otlptest.Start(t, otlptest.WithCountOnly())
	before := goleak.IgnoreCurrent()
	var heap uint64
	cycle := func(protocol string) {
		h, err := lens.SetupTelemetry(context.Background(), config(to(protocol, urlOf(s, protocol)), allSignals), lens.WithLogger(slog.New(slog.DiscardHandler)))
		require.NoError(t, err)
		makeSpans(10)
		require.NoError(t, h.Shutdown(context.Background()))
	}
	for i := range 60 {
		cycle(protocols[i%2])
		if i == 9 {
			heap = liveHeap()
		}
	}
	requireNoLeak(t, before)
	require.Equal(t, 600, s.Count(otlptest.Traces))
	// A pipeline takes some hundred kilobytes: its queue, and the table of open spans.
	require.Eventually(t, func() bool { return int64(liveHeap())-int64(heap) < 2<<20 }, limit, time.Millisecond, "fifty set-ups left memory behind")
}

func liveHeap() uint64 {
	var m runtime.MemStats
	for range 3 { // pools are emptied in two steps
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestD1WhatWasWrappedBeforeReachesTheCurrentPipeline(t *testing.T) {
	for range 3 {
		s := otlptest.Start(t)
		tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
		for _, tracer := range []trace.Tracer{earlyTracer, earlyLens, earlyLibrary} { // D3
			_, span := tracer.Start(context.Background(), "early")
			require.True(t, span.IsRecording())
			span.End()
		}
		require.NoError(t, earlyFn(context.Background()))
		require.NoError(t, tm.Shutdown(context.Background()))
		require.Equal(t, map[string]int{"early": 3, "wrapped": 1}, namesOf(s.Spans()))
		for _, tracer := range []trace.Tracer{earlyTracer, earlyLens, earlyLibrary} {
			_, span := tracer.Start(context.Background(), "between")
			require.False(t, span.IsRecording(), "records into a pipeline that is gone")
		}
	}
}

// globals restores the OTel globals at the end of the test.
func globals(t *testing.T) {
	t.Helper()
	tracers, meters, propagator, handler := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetTextMapPropagator(), otel.GetErrorHandler()
	t.Cleanup(func() {
		if otel.GetTracerProvider() != tracers {
			otel.SetTracerProvider(tracers)
		}
		if otel.GetMeterProvider() != meters {
			otel.SetMeterProvider(meters)
		}
		if !reflect.DeepEqual(otel.GetTextMapPropagator(), propagator) {
			otel.SetTextMapPropagator(propagator)
		}
		if otel.GetErrorHandler() != handler {
			otel.SetErrorHandler(handler)
		}
	})
}

func TestD2GlobalsAreGivenBack(t *testing.T) {
	globals(t)
	tracers, meters, loggers, handler := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetLoggerProvider(), otel.GetErrorHandler()
	s := otlptest.Start(t)
	for range 2 {
		tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), allSignals))
		require.NotEqual(t, tracers, otel.GetTracerProvider())
		require.NotEqual(t, meters, otel.GetMeterProvider())
		require.NotEqual(t, loggers, otel.GetLoggerProvider())
		require.Contains(t, otel.GetTextMapPropagator().Fields(), "traceparent")
		require.NoError(t, tm.Shutdown(context.Background()))
		require.Equal(t, tracers, otel.GetTracerProvider())
		require.Equal(t, meters, otel.GetMeterProvider())
		require.Equal(t, loggers, otel.GetLoggerProvider())
		require.True(t, handler == otel.GetErrorHandler())
	}
}

func TestD2TheProgramsProvider(t *testing.T) {
	globals(t)
	recorder := tracetest.NewSpanRecorder()
	own := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	defer func() { require.NoError(t, own.Shutdown(context.Background())) }()
	s := otlptest.Start(t)
	cfg := config(to(grpcProtocol, s.GRPCURL()))

	t.Run("set before", func(t *testing.T) {
		otel.SetTracerProvider(own)
		tm := setUp(t, cfg)
		require.True(t, otel.GetTracerProvider() == trace.TracerProvider(own))
		require.Contains(t, tm.log.String(), "own tracer provider")
		makeSpans(1)
		_, span := otel.Tracer("host").Start(context.Background(), "host")
		span.End()
		require.NoError(t, tm.Shutdown(context.Background()))
		require.True(t, otel.GetTracerProvider() == trace.TracerProvider(own))
		require.Equal(t, map[string]int{"step": 1}, namesOf(s.Spans()))
		require.Len(t, recorder.Ended(), 1)
	})
	t.Run("replaced when asked", func(t *testing.T) {
		tm := setUp(t, cfg, lens.WithGlobalProvider(true))
		require.False(t, otel.GetTracerProvider() == trace.TracerProvider(own))
		otel.SetTracerProvider(otel.GetTracerProvider()) // harmless
		require.NoError(t, tm.Shutdown(context.Background()))
		require.True(t, otel.GetTracerProvider() == trace.TracerProvider(own))
	})
	t.Run("set after", func(t *testing.T) {
		tm := setUp(t, cfg, lens.WithGlobalProvider(true))
		later := sdktrace.NewTracerProvider()
		defer func() { require.NoError(t, later.Shutdown(context.Background())) }()
		otel.SetTracerProvider(later)
		otel.SetMeterProvider(noopmetric.NewMeterProvider())
		mine := &countingHandler{}
		otel.SetErrorHandler(mine)
		require.NoError(t, tm.Shutdown(context.Background()))
		require.True(t, otel.GetTracerProvider() == trace.TracerProvider(later))
		require.Equal(t, noopmetric.NewMeterProvider(), otel.GetMeterProvider())
		require.True(t, otel.GetErrorHandler() == otel.ErrorHandler(mine))
	})
	t.Run("not installed when told so", func(t *testing.T) {
		otel.SetTracerProvider(own)
		tm := setUp(t, cfg, lens.WithGlobalProvider(false))
		require.True(t, otel.GetTracerProvider() == trace.TracerProvider(own))
		makeSpans(1)
		require.NoError(t, tm.Shutdown(context.Background()))
	})
}

type countingHandler struct{ n atomic.Int64 }

func (h *countingHandler) Handle(error) { h.n.Add(1) }

var handlerCycles = program("D4", func() {
	// The pattern that recurses without end in a handler that keeps the previous one.
	before := otel.GetErrorHandler()
	user := &countingHandler{}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		user.Handle(err)
		if user.n.Load() < 1000 {
			before.Handle(err)
		}
	}))
	for range 2 {
		h := mustSetUp()
		otel.Handle(errRefused)
		_ = h.Shutdown(context.Background())
	}
	otel.Handle(errRefused)
	fmt.Println("calls:", user.n.Load())
})

func TestD4ErrorHandlerDoesNotRecurse(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := runChild(t, handlerCycles, exportTo(grpcProtocol, s.GRPCURL())...)
	require.Zero(t, p.status(t), &p.stderr)
	// Once for each error while lens is set up; the last one is between the program and OTel.
	var calls int
	_, err := fmt.Sscanf(p.stdout.String(), "calls: %d", &calls)
	require.NoError(t, err, p.stdout.String())
	require.GreaterOrEqual(t, calls, 3)
	require.NotContains(t, p.stderr.String(), "stack overflow")
}

func TestD4TheProgramsHandlerIsStillCalled(t *testing.T) {
	globals(t)
	user := &countingHandler{}
	otel.SetErrorHandler(user)
	s := otlptest.Start(t)
	for i := range 3 {
		tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
		otel.Handle(errRefused)
		require.EqualValues(t, i+1, user.n.Load())
		require.Equal(t, 1, strings.Count(tm.log.String(), "refused"))
		require.NoError(t, tm.Shutdown(context.Background()))
		require.True(t, otel.GetErrorHandler() == otel.ErrorHandler(user))
	}
}

func TestD5ALongOutageIsAFewLines(t *testing.T) {
	s := otlptest.Start(t)
	s.SetFault(otlptest.Reject(codes.InvalidArgument, 400))
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), func(c *lens.Config) { c.BatchSize, c.BatchDelay = 1, time.Millisecond }))
	for range 100 {
		makeSpans(1)
		_ = tm.ForceFlush(context.Background())
	}
	require.EqualValues(t, 100, tm.Stats().Failed)
	require.ErrorContains(t, tm.Shutdown(context.Background()), "100 of 100 spans lost")
	lines := strings.Count(tm.log.String(), "level=WARN")
	require.NotZero(t, lines)
	require.LessOrEqual(t, lines, 3, tm.log)
}

// countingTransport makes a span of each request, as instrumentation does.
type countingTransport struct{ requests atomic.Int64 }

func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	_, span := otel.Tracer("transport").Start(r.Context(), "HTTP POST")
	defer span.End()
	return http.DefaultTransport.(*countingTransport).inner().RoundTrip(r)
}

func (*countingTransport) inner() http.RoundTripper { return &http.Transport{} }

func TestD7TheExporterDoesNotTraceItself(t *testing.T) {
	instrumented := &countingTransport{}
	before := http.DefaultTransport
	http.DefaultTransport = instrumented
	defer func() { http.DefaultTransport = before }()
	for _, protocol := range protocols {
		s := otlptest.Start(t)
		tm := setUp(t, config(to(protocol, urlOf(s, protocol)), allSignals))
		makeSpans(1)
		for range 5 {
			require.NoError(t, tm.ForceFlush(context.Background()))
		}
		require.EqualValues(t, 1, tm.Stats().Started, protocol)
		require.NoError(t, tm.Shutdown(context.Background()))
		require.Equal(t, map[string]int{"step": 1}, namesOf(s.Spans()), protocol)
	}
	require.Zero(t, instrumented.requests.Load())
}

func TestD8ATimedOutFlushLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	free := make(chan struct{})
	tm := setUp(t, config(within(100*time.Millisecond)), lens.WithSpanExporter(&exporter{
		export: func(context.Context, []sdktrace.ReadOnlySpan) error { <-free; return nil },
	}))
	makeSpans(3)
	for range 10 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		require.ErrorIs(t, tm.ForceFlush(ctx), context.DeadlineExceeded)
		cancel()
	}
	require.ErrorContains(t, tm.Shutdown(context.Background()), "3 of 3 spans lost")
	close(free)
	requireNoLeak(t, before)
}

// tracingHandler makes a span of each log record and an event on the current one.
type tracingHandler struct{ slog.Handler }

func (h tracingHandler) Handle(ctx context.Context, r slog.Record) error {
	trace.SpanFromContext(ctx).AddEvent("log", trace.WithAttributes(attribute.String("message", r.Message)))
	ctx, span := lens.ManagedSpan(ctx, lens.Step, "log")
	defer lens.End(span, nil)
	return h.Handler.Handle(ctx, r)
}

func TestD9LogsAndSpansDoNotFeedEachOther(t *testing.T) {
	s := otlptest.Start(t)
	s.SetFault(otlptest.Reject(codes.InvalidArgument, 400))
	before := slog.Default()
	out := &buffer{}
	logger := slog.New(tracingHandler{slog.NewTextHandler(out, nil)})
	slog.SetDefault(logger)
	defer slog.SetDefault(before)
	tm, err := lens.SetupTelemetry(context.Background(), config(to(grpcProtocol, s.GRPCURL()), within(200*time.Millisecond)), lens.WithLogger(logger))
	require.NoError(t, err)
	defer func() { _ = tm.Shutdown(context.Background()) }()
	bounded(t, "logging", func() {
		ctx, span := lens.ManagedSpan(context.Background(), lens.Job, "job\xff")
		for range 50 {
			slog.InfoContext(ctx, "step")
			otel.Handle(errRefused)
			_ = tm.ForceFlush(ctx)
		}
		lens.End(span, nil)
		_ = tm.Shutdown(ctx)
	})
	require.Less(t, tm.Stats().Started, uint64(50+1+20), "log lines of lens make spans whose loss makes log lines")
	require.Less(t, strings.Count(out.String(), "\n"), 50+20)
}

var cleanExit = program("D10", func() {
	h := mustSetUp()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	check(h.Shutdown(ctx), 80)
	check(h.Shutdown(ctx), 81)
	check(h.ForceFlush(ctx), 82)
})

func TestD10ACleanExitIsQuiet(t *testing.T) {
	t.Parallel()
	for what, more := range map[string][]string{
		"a receiver": nil, "no receiver": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + otlptest.ClosedAddr(t)},
		"console": {"NEMO_LENS_EXPORTER=console"}, "none": {"NEMO_LENS_EXPORTER=none"}, "off": {"NEMO_LENS_ENABLED=0"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := otlptest.Start(t)
			p := runChild(t, cleanExit, append(exportTo(grpcProtocol, s.GRPCURL()), more...)...)
			require.Zero(t, p.status(t), &p.stderr)
			require.Empty(t, p.stdout.String())
			// The line that says what is on is not a complaint.
			for line := range strings.Lines(p.stderr.String()) {
				require.Contains(t, line, "telemetry is on")
			}
		})
	}
}

func TestD2APropagatorSetLaterStays(t *testing.T) {
	globals(t)
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	otel.SetTextMapPropagator(propagation.Baggage{})
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Equal(t, propagation.Baggage{}, otel.GetTextMapPropagator())
}

func TestD5TheEndOfAnOutageIsSaid(t *testing.T) {
	s := otlptest.Start(t)
	s.SetFault(otlptest.Reject(codes.InvalidArgument, 400))
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	for range 5 {
		makeSpans(1)
		_ = tm.ForceFlush(context.Background())
	}
	require.Eventually(t, func() bool { return strings.Contains(tm.log.String(), "spans are being lost") }, limit, time.Millisecond)
	require.NotContains(t, tm.log.String(), "again")
	s.SetFault()
	makeSpans(1)
	require.NoError(t, tm.ForceFlush(context.Background()))
	makeSpans(1)
	require.NoError(t, tm.ForceFlush(context.Background()))
	require.Equal(t, 1, strings.Count(tm.log.String(), "failures="), "one line says that spans are exported again: %s", tm.log)
}
