//go:build !lens_noop

package lens

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

func TestEmitSpan(t *testing.T) {
	rec, _ := recordSpans(t, "job")
	at := time.Unix(1_700_000_000, 250)
	ctx, parent := ManagedSpan(context.Background(), Job, "parent")
	for _, c := range []struct {
		name       string
		start, end time.Time
		wantEnd    time.Time
		err        string
	}{
		{"an interval", at, at.Add(time.Second), at.Add(time.Second), ""},
		{"a marker", at, at, at, ""},
		{"30 ms of skew", at.Add(30 * time.Millisecond), at, at.Add(30 * time.Millisecond), ""},
		{"more skew", at.Add(30*time.Millisecond + 1), at, time.Time{}, "before the start"},
		{"no start", time.Time{}, at, time.Time{}, "start time is zero"},
		{"no end", at, time.Time{}, time.Time{}, "end time is zero"},
	} {
		before := len(rec.Ended())
		sc, err := EmitSpan(ctx, Job, c.name, c.start, c.end, attribute.String("password", "x"))
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.name)
			require.ErrorContains(t, err, c.name)
			require.False(t, sc.IsValid())
			require.Len(t, rec.Ended(), before)
			continue
		}
		require.NoError(t, err, c.name)
		s := rec.Ended()[before]
		require.Equal(t, s.SpanContext().SpanID(), sc.SpanID())
		require.True(t, s.StartTime().Equal(c.start) && s.EndTime().Equal(c.wantEnd), c.name)
		require.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
		require.Equal(t, scopeLens, s.InstrumentationScope().Name)
		require.Equal(t, []attribute.KeyValue{attribute.String("password", "[REDACTED]")}, s.Attributes())
	}
	// The gate comes before everything, also before what is wrong.
	sc, err := EmitSpan(ctx, Step, "off", time.Time{}, time.Time{})
	require.NoError(t, err)
	require.False(t, sc.IsValid())
	// A child can use it as its parent.
	sc, err = EmitSpan(ctx, Job, "stage", at, at.Add(time.Minute))
	require.NoError(t, err)
	_, child := SpanCM(trace.ContextWithSpanContext(ctx, sc), "child")
	child.End()
	ended := rec.Ended()
	require.Equal(t, sc.SpanID(), ended[len(ended)-1].Parent().SpanID())
	parent.End()
}

func TestVectorsEmitSpanTimes(t *testing.T) {
	var suite struct {
		Cases []struct {
			Start, End string
			A          struct {
				Error  bool
				Result struct {
					StartNS int64 `json:"start_ns"`
					EndNS   int64 `json:"end_ns"`
				}
			} `json:"variant_a"`
		}
	}
	vectors(t, "emit_span_times_nightly", &suite)
	rec, _ := recordSpans(t, "job")
	compared := 0
	for _, c := range suite.Cases {
		start, okStart := unixTime(t, c.Start)
		end, okEnd := unixTime(t, c.End)
		if !okStart || !okEnd {
			continue // texts that are no number have no time.Time
		}
		_, err := EmitSpan(context.Background(), Job, "x", start, end)
		require.Equal(t, c.A.Error, err != nil, "%s to %s: %v", c.Start, c.End, err)
		if err == nil {
			s := rec.Ended()[len(rec.Ended())-1]
			require.Equal(t, [2]int64{c.A.Result.StartNS, c.A.Result.EndNS}, [2]int64{s.StartTime().UnixNano(), s.EndTime().UnixNano()})
		}
		compared++
	}
	require.Greater(t, compared, 6)
}

func TestLinkedSpan(t *testing.T) {
	rec, _ := recordSpans(t, "")
	remote := trace.SpanContextFromContext(ExtractContext(context.Background(), map[string]string{"traceparent": someParent}))
	ctx, linked := LinkedSpan(context.Background(), "linked", remote, attribute.Int("n", 1))
	_, plain := LinkedSpan(ctx, "plain", trace.SpanContext{})
	plain.End()
	linked.End()
	ended := rec.Ended()
	require.Empty(t, ended[0].Links())
	require.Equal(t, linked.SpanContext().SpanID(), ended[0].Parent().SpanID())
	require.Len(t, ended[1].Links(), 1)
	require.Equal(t, someTrace, ended[1].Links()[0].SpanContext.TraceID().String())
	require.NotEqual(t, someTrace, ended[1].SpanContext().TraceID().String())
	require.Equal(t, []attribute.KeyValue{attribute.Int("n", 1)}, ended[1].Attributes())
}

func TestDetachKeepsTheTraceOnly(t *testing.T) {
	recordSpans(t, "job")
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	ctx, span := ManagedSpan(ctx, Job, "x")
	defer span.End()
	detached := Detach(ctx)
	cancel()
	require.NoError(t, detached.Err())
	_, hasDeadline := detached.Deadline()
	require.False(t, hasDeadline)
	require.Equal(t, span, trace.SpanFromContext(detached))
	var none context.Context
	require.NotNil(t, Detach(none))
}

func TestWithSpanAttributes(t *testing.T) {
	rec, h := recordSpans(t, "job")
	outer := WithSpanAttributes(context.Background(), attribute.Int("epoch", 1), attribute.String("token", "x"), attribute.String("who", "outer"))
	inner := WithSpanAttributes(outer, attribute.String("who", "inner"))
	_, a := ManagedSpan(inner, Job, "a", attribute.Int("epoch", 7))
	a.End()
	_, b := h.Tracer().Start(inner, "b", trace.WithAttributes(attribute.Int("epoch", 9)))
	b.End()
	_, c := GroupTracerProvider(Job).Tracer("library").Start(outer, "c")
	c.End()
	_, d := ManagedSpan(context.Background(), Job, "d")
	d.End()
	set := func(i int) map[string]string {
		m := map[string]string{}
		for _, kv := range rec.Ended()[i].Attributes() {
			m[string(kv.Key)] = kv.Value.String()
		}
		return m
	}
	require.Equal(t, map[string]string{"epoch": "7", "token": "[REDACTED]", "who": "inner"}, set(0))
	require.Equal(t, map[string]string{"epoch": "9", "token": "[REDACTED]", "who": "inner"}, set(1))
	require.Equal(t, map[string]string{"epoch": "1", "token": "[REDACTED]", "who": "outer"}, set(2))
	require.Empty(t, set(3))
	require.True(t, WithSpanAttributes(outer) == outer)
}

func TestGroupTracerProviderFollowsTheGateLive(t *testing.T) {
	rec, h := recordSpans(t, "job")
	tracer := GroupTracerProvider(Step).Tracer("library", trace.WithInstrumentationVersion("1.2"))
	ctx := context.Background()
	got, span := tracer.Start(ctx, "off")
	require.True(t, got == ctx)
	require.False(t, span.IsRecording())
	require.Zero(t, testing.AllocsPerRun(100, func() { tracer.Start(ctx, "off") }))
	// A library that looks for its span in the context finds nothing that it
	// could end, and its children keep the caller as their parent.
	callers, caller := SpanCM(ctx, "caller")
	below, span := tracer.Start(callers, "off")
	require.False(t, trace.SpanFromContext(below).IsRecording())
	require.Equal(t, caller.SpanContext().SpanID(), trace.SpanContextFromContext(below).SpanID())
	span.End()
	trace.SpanFromContext(below).End()
	require.True(t, caller.IsRecording())
	caller.End()
	require.NoError(t, SetSpanGroupSpec("step"))
	_, span = tracer.Start(ctx, "on")
	require.Equal(t, Step, h.OpenSpans()[0].Group)
	span.End()
	require.Len(t, rec.Ended(), 2)
	require.Equal(t, "library", rec.Ended()[1].InstrumentationScope().Name)
	require.Equal(t, "1.2", rec.Ended()[1].InstrumentationScope().Version)
	require.NoError(t, h.Shutdown(ctx))
	_, span = tracer.Start(ctx, "after")
	require.False(t, span.IsRecording())
}

func TestInjectAndExtractWhileSetUp(t *testing.T) {
	recordSpans(t, "job")
	requireW3C(t)
}
