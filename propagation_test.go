package lens

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	require.Equal(t, suite.Empty, string(SerializeContext(context.Background())))
	ctx := ExtractContext(context.Background(), map[string]string{"traceparent": someParent})
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
	require.Equal(t, someTrace, trace.SpanContextFromContext(DeserializeContext(context.Background(), SerializeContext(ctx))).TraceID().String())
}

// Before any set-up OTel's own global propagator carries nothing.
func TestInjectAndExtract(t *testing.T) { requireW3C(t) }

func requireW3C(t *testing.T) {
	t.Helper()
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
