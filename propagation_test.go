//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

const (
	someTrace  = "0af7651916cd43dd8448eb211c80319c"
	someParent = "00-" + someTrace + "-b7ad6b7169203331-01"
)

func TestVectorsByteCarrier(t *testing.T) {
	var suite struct {
		Empty string `json:"serialize_without_active_span"`
		Cases []struct {
			Bytes        string `json:"bytes_latin1"`
			ExtractError bool   `json:"extract_error"`
			SpanContext  string `json:"span_context"`
		}
	}
	vectors(t, "byte_carrier_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	record(t, "job")
	require.Equal(t, suite.Empty, string(SerializeContext(context.Background())))
	ctx, span := ManagedSpan(context.Background(), Job, "x")
	defer End(span, nil)
	for _, c := range suite.Cases {
		got := DeserializeContext(ctx, []byte(c.Bytes))
		switch {
		case c.ExtractError, c.SpanContext == "current": // where the reference fails, lens changes nothing
			require.True(t, got == ctx, c.Bytes)
		case c.SpanContext == "none":
			require.False(t, trace.SpanContextFromContext(got).IsValid(), c.Bytes)
		default:
			require.Equal(t, c.SpanContext, trace.SpanContextFromContext(got).TraceID().String())
		}
	}
	for _, bad := range []string{`{"traceparent":null}`, "{\"a\":\"\xff\"}", "[]", "null", "{", `{"a":"b"} x`, "\xff\xfe{"} {
		require.True(t, DeserializeContext(ctx, []byte(bad)) == ctx, bad)
	}
	require.Equal(t, span.SpanContext().TraceID(), trace.SpanContextFromContext(DeserializeContext(context.Background(), SerializeContext(ctx))).TraceID())
}

func TestInjectAndExtract(t *testing.T) {
	// Also before any set-up, when OTel's own global propagator carries nothing.
	for _, setUp := range []bool{false, true} {
		if setUp {
			record(t, "job")
		}
		carrier := map[string]string{}
		InjectContext(context.Background(), carrier)
		require.Empty(t, carrier)
		InjectContext(context.Background(), nil)

		ctx := ExtractContext(context.Background(), map[string]string{"traceparent": someParent, "tracestate": "v=1", "baggage": "user=7"})
		InjectContext(ctx, carrier)
		require.Equal(t, map[string]string{"traceparent": someParent, "tracestate": "v=1", "baggage": "user=7"}, carrier)

		none := ExtractContext(ctx, nil)
		require.False(t, trace.SpanContextFromContext(none).IsValid())
		require.Zero(t, baggage.FromContext(none).Len())
		require.False(t, trace.SpanContextFromContext(ExtractContext(ctx, map[string]string{"Traceparent": someParent})).IsValid())
		python := strings.TrimSuffix(someParent, "01") + "09"
		require.Equal(t, someTrace, trace.SpanContextFromContext(ExtractContext(context.Background(), map[string]string{"traceparent": python})).TraceID().String())
	}
}

func TestEnvironmentCarrier(t *testing.T) {
	ctx := extractEnviron(context.Background(), []string{"traceparent=" + strings.Replace(someParent, "-01", "-00", 1), " =x", "TRACEPARENT= " + someParent + "\t", "TraceParent=bad", "BAGGAGE=user=7", "x"})
	sc := trace.SpanContextFromContext(ctx)
	require.Equal(t, someTrace, sc.TraceID().String())
	require.True(t, sc.IsSampled() && sc.IsRemote())

	env := []string{"PATH=/bin", "traceparent=stale", "TRACESTATE=stale=1", "TRACEPARENTS=kept"}
	before := slices.Clone(env)
	require.Equal(t, []string{"PATH=/bin", "TRACEPARENTS=kept", "BAGGAGE=user=7", "TRACEPARENT=" + someParent}, InjectEnv(ctx, env))
	require.Equal(t, []string{"PATH=/bin", "TRACEPARENTS=kept"}, InjectEnv(context.Background(), env))
	require.Equal(t, before, env, "the caller's slice was changed")

	require.True(t, extractEnviron(ctx, nil) == ctx)
	t.Setenv("TRACEPARENT", someParent)
	require.Equal(t, someTrace, trace.SpanContextFromContext(ExtractEnv(context.Background())).TraceID().String())
}

func FuzzDeserializeContext(f *testing.F) {
	f.Add([]byte(`{"traceparent":"` + someParent + `"}`))
	f.Add([]byte(`{"traceparent":5}`))
	f.Add([]byte("not json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx := DeserializeContext(context.Background(), data)
		again := DeserializeContext(context.Background(), SerializeContext(ctx))
		if !trace.SpanContextFromContext(ctx).Equal(trace.SpanContextFromContext(again)) {
			t.Fatalf("%q does not survive a round trip", data)
		}
	})
}

type fakeBroadcast func([]byte) ([]byte, error)

func (f fakeBroadcast) Broadcast(_ context.Context, _ int, payload []byte) ([]byte, error) {
	return f(payload)
}

func TestBroadcastTraceContext(t *testing.T) {
	ctx := ExtractContext(context.Background(), map[string]string{"traceparent": someParent})
	var sent []byte
	echo := fakeBroadcast(func(p []byte) ([]byte, error) {
		if p != nil {
			sent = p
		}
		return sent, nil
	})
	for rank := range 3 {
		carrier, err := BroadcastTraceContext(ctx, echo, rank, 0)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"traceparent": someParent}, carrier)
		ctx = context.Background() // the others have no trace of their own
	}
	carrier, err := BroadcastTraceContext(ctx, echo, 0, 0)
	require.NoError(t, err)
	require.Equal(t, map[string]string{}, carrier)

	carrier, err = BroadcastTraceContext(ctx, nil, 0, 0)
	require.Nil(t, carrier)
	require.NoError(t, err)
	_, err = BroadcastTraceContext(ctx, echo, -1, 0)
	require.ErrorContains(t, err, "rank -1")
	broken := errors.New("connection reset")
	_, err = BroadcastTraceContext(ctx, fakeBroadcast(func([]byte) ([]byte, error) { return nil, broken }), 1, 0)
	require.ErrorIs(t, err, broken)
	_, err = BroadcastTraceContext(ctx, fakeBroadcast(func([]byte) ([]byte, error) { return []byte("junk"), nil }), 1, 0)
	require.ErrorContains(t, err, "JSON object")
}

func TestEmitSpan(t *testing.T) {
	rec, _ := record(t, "job")
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
	rec, _ := record(t, "job")
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
	rec, _ := record(t, "")
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
	record(t, "job")
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
	rec, h := record(t, "job")
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
	rec, h := record(t, "job")
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

func TestOpenSpansSayWhatTheProcessIsDoing(t *testing.T) {
	_, h := record(t, "job")
	ctx, outer := ManagedSpan(context.Background(), Job, "outer", attribute.Int("n", 1))
	_, inner := SpanCM(ctx, "inner")
	open := h.OpenSpans()
	require.Len(t, open, 2)
	require.Equal(t, "outer", open[0].Name)
	require.Equal(t, Job, open[0].Group)
	require.Equal(t, []attribute.KeyValue{attribute.Int("n", 1)}, open[0].Attributes)
	require.False(t, open[0].ParentSpanID.IsValid())
	require.Equal(t, open[0].SpanID, open[1].ParentSpanID)
	require.Equal(t, inner.SpanContext().TraceID(), open[1].TraceID)
	inner.End()
	outer.End()
	require.Empty(t, h.OpenSpans())
	require.Nil(t, (*TelemetryHandle)(nil).OpenSpans())
}

func TestProcessStartTimeIsBeforeNow(t *testing.T) {
	at, err := ProcessStartTime()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.True(t, at.Before(time.Now()))
	require.Less(t, time.Since(at), 24*time.Hour)
	require.NotZero(t, os.Getpid())
}

// unixTime reads exact decimal seconds, truncated to nanoseconds.
func unixTime(t *testing.T, text string) (time.Time, bool) {
	t.Helper()
	seconds, ok := new(big.Rat).SetString(text)
	if !ok {
		return time.Time{}, false
	}
	ns := new(big.Rat).Mul(seconds, big.NewRat(1e9, 1))
	whole := new(big.Int).Quo(ns.Num(), ns.Denom())
	require.True(t, whole.IsInt64())
	return time.Unix(0, whole.Int64()), true
}
