//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/record/scoped"
)

// record sets telemetry up with a recorder that is read after shutdown.
func recordSpans(t *testing.T, spec string) (*tracetest.SpanRecorder, *TelemetryHandle) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.Exporter, cfg.RunID = true, spec, "none", "test"
	rec := tracetest.NewSpanRecorder()
	h, err := SetupTelemetry(context.Background(), cfg, WithSpanProcessor(rec), WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	return rec, h
}

func exceptions(s sdktrace.ReadOnlySpan) int {
	n := 0
	for _, e := range s.Events() {
		if e.Name == "exception" {
			n++
		}
	}
	return n
}

func TestOffReturnsTheSameContext(t *testing.T) {
	recordSpans(t, "job")
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, 1)
	got, span := ManagedSpan(ctx, Step, "x", attribute.Int("i", 1))
	require.True(t, got == ctx)
	require.False(t, span.IsRecording())
	require.False(t, span.SpanContext().IsValid())
}

func TestOffAllocatesNothing(t *testing.T) {
	recordSpans(t, "job")
	ctx := context.Background()
	step := TraceFn(Step, "x", func(context.Context, int) (int, error) { return 1, nil })
	for name, f := range map[string]func(){
		"gate": func() { IsSpanGroupEnabled(Step) },
		"managed": func() {
			_, span := ManagedSpan(ctx, Step, "x", attribute.Int("i", 1), attribute.String("s", "t"))
			var err error
			defer End(span, &err)
		},
		"with": func() { ManagedSpanWith(ctx, Step, "x") },
		"fn":   func() { _, _ = step(ctx, 1) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, f), name)
	}
}

// outcomes runs a body that fails in every wrapper.
func outcomes(body func(context.Context) error) map[string]func() error {
	return map[string]func() error{
		"ManagedSpan": func() (err error) {
			ctx, span := ManagedSpan(context.Background(), Step, "x")
			defer End(span, &err)
			return body(ctx)
		},
		"ManagedSpanWith": func() (err error) {
			ctx, span := ManagedSpanWith(context.Background(), Step, "x", trace.WithSpanKind(trace.SpanKindClient))
			defer End(span, &err)
			return body(ctx)
		},
		"SpanCM": func() (err error) {
			ctx, span := SpanCM(context.Background(), "x")
			defer End(span, &err)
			return body(ctx)
		},
		"TraceFn": func() error {
			_, err := TraceFn(Step, "x", func(ctx context.Context, _ int) (int, error) { return 0, body(ctx) })(context.Background(), 1)
			return err
		},
		"TraceErrFn": func() error { return TraceErrFn(Step, "x", body)(context.Background()) },
	}
}

func TestOutcomesThroughEveryWrapper(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		err    error
		status codes.Code
		events int
	}{
		"ok":       {nil, codes.Unset, 0},
		"error":    {boom, codes.Error, 1},
		"canceled": {fmt.Errorf("wrapped: %w", context.Canceled), codes.Unset, 0},
		"deadline": {context.DeadlineExceeded, codes.Error, 1},
	} {
		for wrapper, run := range outcomes(func(context.Context) error { return tc.err }) {
			rec, h := recordSpans(t, "step")
			require.Equal(t, tc.err, run(), "%s %s", name, wrapper)
			require.NoError(t, h.Shutdown(context.Background()))
			require.Len(t, rec.Ended(), 1, "%s %s", name, wrapper)
			require.Equal(t, tc.status, rec.Ended()[0].Status().Code, "%s %s", name, wrapper)
			require.Equal(t, tc.events, exceptions(rec.Ended()[0]), "%s %s", name, wrapper)
		}
	}
}

func TestPanicThroughEveryWrapper(t *testing.T) {
	for _, value := range []any{errors.New("boom"), "text", 7, []int{1}} {
		for wrapper, run := range outcomes(func(context.Context) error { panic(value) }) {
			rec, h := recordSpans(t, "step")
			func() {
				defer func() { require.Equal(t, value, recover(), wrapper) }()
				var err error
				ctx, outer := ManagedSpan(context.Background(), Step, "outer")
				_ = ctx
				defer End(outer, &err)
				_ = run()
			}()
			require.NoError(t, h.Shutdown(context.Background()))
			ended := rec.Ended()
			require.Len(t, ended, 2, wrapper)
			require.Equal(t, 1, exceptions(ended[0]), wrapper)
			require.Equal(t, 0, exceptions(ended[1]), "%s: recorded again further out", wrapper)
			for _, s := range ended {
				require.Equal(t, codes.Error, s.Status().Code, wrapper)
			}
		}
	}
}

func TestGoexitThroughEveryWrapper(t *testing.T) {
	for wrapper, run := range outcomes(func(context.Context) error { runtime.Goexit(); return nil }) {
		rec, h := recordSpans(t, "step")
		done := make(chan struct{})
		go func() { defer close(done); _ = run() }()
		<-done
		require.NoError(t, h.Shutdown(context.Background()))
		require.Len(t, rec.Ended(), 1, wrapper)
	}
}

func TestStatusOkStaysAndDoubleEnd(t *testing.T) {
	rec, h := recordSpans(t, "step")
	err := errors.New("late")
	_, span := ManagedSpan(context.Background(), Step, "x", attribute.String("password", "hunter2"))
	span.SetStatus(codes.Ok, "")
	End(span, &err)
	End(span, &err)
	End(nil, &err)
	require.NoError(t, h.Shutdown(context.Background()))
	require.Len(t, rec.Ended(), 1)
	require.Equal(t, codes.Ok, rec.Ended()[0].Status().Code)
	require.Equal(t, "[REDACTED]", rec.Ended()[0].Attributes()[0].Value.AsString())
}

func TestManagedSpanWithRedactsAndKeepsTheRest(t *testing.T) {
	rec, h := recordSpans(t, "step")
	_, span := ManagedSpanWith(context.Background(), Step, "x", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("token", "hunter2"), attribute.Int("i", 1)))
	End(span, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	got := rec.Ended()[0]
	require.Equal(t, trace.SpanKindClient, got.SpanKind())
	require.Equal(t, []attribute.KeyValue{attribute.String("token", "[REDACTED]"), attribute.Int("i", 1)}, got.Attributes())
}

func TestEveryKindOfTextIsRedacted(t *testing.T) {
	rec, _ := recordSpans(t, "job")
	attrs := []attribute.KeyValue{
		attribute.ByteSlice("password", []byte("S3")), attribute.Slice("token", attribute.StringValue("S3")),
		attribute.Map("key", attribute.String("a", "S3")), attribute.Map("m", attribute.String("password", "S3"), attribute.Int("n", 1)),
		attribute.Slice("list", attribute.MapValue(attribute.String("secret", "S3"))), attribute.Int("text", 7),
	}
	_, a := ManagedSpan(context.Background(), Job, "a", attrs...)
	a.End()
	_, b := ManagedSpanWith(context.Background(), Job, "b", nil, trace.WithAttributes(attrs...),
		trace.WithLinks(trace.Link{Attributes: attrs}))
	b.End()
	_, c := SpanCM(WithSpanAttributes(context.Background(), attrs...), "c")
	c.End()
	for _, s := range rec.Ended() {
		require.NotContains(t, fmt.Sprint(s.Attributes(), s.Links()), "S3", s.Name())
		require.Contains(t, s.Attributes(), attribute.Int("text", 7), s.Name())
	}
	require.Equal(t, attribute.ByteSlice("password", []byte("S3")), attrs[0], "the caller's attributes were changed")
}

func TestEndRecordsJoinedErrors(t *testing.T) {
	rec, _ := recordSpans(t, "job")
	for _, err := range []error{
		context.Canceled, fmt.Errorf("rank 3: %w", context.Canceled), errors.Join(context.Canceled, fmt.Errorf("x: %w", context.Canceled)),
		errors.Join(context.Canceled, errors.New("disk full")), context.DeadlineExceeded,
	} {
		_, span := ManagedSpan(context.Background(), Job, "x")
		End(span, &err)
	}
	for i, want := range []codes.Code{codes.Unset, codes.Unset, codes.Unset, codes.Error, codes.Error} {
		require.Equal(t, want, rec.Ended()[i].Status().Code, i)
	}
}

func TestNilCountsAsTheDefault(t *testing.T) {
	var class *GroupClass
	require.Equal(t, BaseGroups.Groups().Len(), class.Groups().Len())
	require.Len(t, class.Presets(), 3)
	require.NotEmpty(t, class.Namespace())
	var registry *GroupRegistry
	_, err := registry.Resolve("step")
	require.NoError(t, err)
	var none context.Context
	require.NotNil(t, WithTracer(none, Tracer()))
	scoped.TracersInUse.Store(false)
}

func TestFailedSetupKeepsTheLogger(t *testing.T) {
	before := published.Load()
	cfg := DefaultConfig()
	cfg.Enabled, cfg.Exporter = true, "nowhere"
	_, err := SetupTelemetry(context.Background(), cfg, WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	require.Error(t, err)
	require.True(t, before == published.Load())
}

func TestSecondSetupIsRefusedUntilShutdown(t *testing.T) {
	before := otel.GetTracerProvider()
	_, h := recordSpans(t, "job")
	cfg := DefaultConfig()
	cfg.Enabled = true
	_, err := SetupTelemetry(context.Background(), cfg)
	require.ErrorIs(t, err, ErrAlreadySetUp)
	require.NoError(t, h.Shutdown(context.Background()))
	require.NoError(t, h.Shutdown(context.Background()))
	require.False(t, IsSpanGroupEnabled(Job))
	require.True(t, before == otel.GetTracerProvider(), "the global provider was not given back")
	recordSpans(t, "job")
	require.True(t, IsSpanGroupEnabled(Job))
}

func TestFailedSetupLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for says, change := range map[string]func(*Config){
		"per_stpe":     func(c *Config) { c.SpanGroups = "per_stpe" },
		"OTLP":         func(c *Config) { c.Exporter = "OTLP" },
		"single_rnak":  func(c *Config) { c.ExportStrategy = "single_rnak" },
		"is 2":         func(c *Config) { c.ExportSampleRate = 2 },
		"no-such-path": func(c *Config) { c.Exporter, c.ExporterFile = "console", "/no-such-path/x" },
	} {
		cfg := DefaultConfig()
		cfg.Enabled = true
		change(&cfg)
		h, err := SetupTelemetry(context.Background(), cfg)
		require.ErrorContains(t, err, says)
		require.Nil(t, h)
	}
	// What tests before have left is ending, and so may be what the set-ups had.
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 30*time.Second, time.Millisecond) // and this function's own
	//lint:ignore SA1012 a nil context is what is tested
	_, err := SetupTelemetry(nil, DefaultConfig()) //nolint:staticcheck
	require.ErrorContains(t, err, "context is nil")
	recordSpans(t, "job") // the guard is not armed
}

func TestOpenSpansAreClosedAtShutdown(t *testing.T) {
	rec, h := recordSpans(t, "all")
	ctx, _ := ManagedSpan(context.Background(), Job, "job")
	_, _ = ManagedSpan(ctx, Step, "step")
	require.EqualValues(t, 2, h.Stats().Open)
	require.NoError(t, h.Shutdown(context.Background()))
	require.Equal(t, "step", rec.Ended()[0].Name())
	require.Contains(t, rec.Ended()[1].Attributes(), attribute.Bool("nemo.span.truncated", true))
}

func TestLateRegistrationApplies(t *testing.T) {
	var r GroupRegistry
	cfg := DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups, cfg.Groups = true, "none", "late_group", &r
	h, err := SetupTelemetry(context.Background(), cfg, WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	require.NoError(t, err)
	require.Equal(t, []string{"late_group"}, PendingSpanGroups())
	require.NoError(t, r.Register(MustGroupClass("x", []SpanGroup{"late_group"}, nil)))
	require.True(t, IsSpanGroupEnabled("late_group"))
	require.Empty(t, PendingSpanGroups())
	SetEnabledSpanGroups(Step)
	require.NoError(t, r.Unregister("x"))
	require.True(t, IsSpanGroupEnabled(Step), "a pinned set was resolved again")
	require.NoError(t, h.Shutdown(context.Background()))
}

func TestEverythingAtOnce(t *testing.T) {
	_, h := recordSpans(t, "all")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				ctx, span := ManagedSpan(context.Background(), Step, "x", attribute.Int("i", i))
				_, child := ManagedSpan(ctx, Optimizer, "y")
				End(child, nil)
				End(span, nil)
			}
		})
	}
	wg.Go(func() {
		for range 100 {
			SetEnabledSpanGroups(Step)
			_ = SetSpanGroupSpec("all")
			_ = DefaultRegistry.Register(BaseGroups)
			_ = DefaultRegistry.Unregister("base")
		}
		_ = h.Shutdown(context.Background())
	})
	wg.Wait()
}

func TestSetEnabledSpanGroupsReturnsWhatWasOn(t *testing.T) {
	initial := SetEnabledSpanGroups(Step)
	t.Cleanup(func() { SetEnabledSpanGroups(initial.Groups()...) })
	require.Equal(t, "step", SetEnabledSpanGroups(Job, Evaluate).String())
	require.Equal(t, "evaluate,job", SetEnabledSpanGroups().String())
	require.Zero(t, SetEnabledSpanGroups("start").Len())

	// Of calls at the same time each returns what another one has set, or the
	// groups of the beginning, and none is returned twice.
	const callers = 16
	returned := make(chan string, callers+1)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { returned <- SetEnabledSpanGroups(SpanGroup(fmt.Sprintf("caller_%d", i))).String() })
	}
	wg.Wait()
	returned <- SetEnabledSpanGroups().String()
	close(returned)
	seen := make(map[string]bool)
	for groups := range returned {
		seen[groups] = true
	}
	require.Len(t, seen, callers+1)
	require.True(t, seen["start"])
}

func TestVectorsState(t *testing.T) {
	var suite struct {
		Steps []struct {
			Op, Group string
			Groups    []SpanGroup
			Expect    bool
		}
	}
	vectors(t, "state_v020", &suite)
	require.NotEmpty(t, suite.Steps)
	before := EnabledSpanGroups()
	t.Cleanup(func() { SetEnabledSpanGroups(before.Groups()...) })
	for i, s := range suite.Steps {
		if s.Op == "set_enabled" {
			SetEnabledSpanGroups(s.Groups...)
		} else {
			require.Equal(t, s.Expect, IsSpanGroupEnabled(SpanGroup(s.Group)), "step %d", i)
		}
	}
}

var sinkBool bool

func BenchmarkOffManagedSpan(b *testing.B) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		_, span := ManagedSpan(ctx, Step, "x", attribute.Int("i", 1), attribute.String("s", "t"))
		End(span, nil)
	}
}
