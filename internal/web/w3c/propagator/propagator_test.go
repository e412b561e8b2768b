package propagator

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Two values of a header that has one are none; lists are joined in order.
func TestManyValues(t *testing.T) {
	t.Parallel()
	const one = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	extract := func(h http.Header) trace.SpanContext {
		return trace.SpanContextFromContext(W3C.Extract(context.Background(), propagation.HeaderCarrier(h)))
	}
	require.False(t, extract(http.Header{"Traceparent": {one, one}}).IsValid())
	require.False(t, extract(http.Header{"Traceparent": {one, ""}}).IsValid())
	sc := extract(http.Header{"Traceparent": {one}, "Tracestate": {"a=1, ,b=2", "", " \t", "c=3"}})
	require.True(t, sc.IsValid())
	require.Equal(t, "a=1,b=2,c=3", sc.TraceState().String())

	carrier := OneValue(propagation.HeaderCarrier{"B3": {"1", "2"}, "Baggage": {"a=1", "b=2"}})
	require.Empty(t, carrier.Get("b3"))
	require.Equal(t, "a=1,b=2", carrier.Get("baggage"))
	require.Equal(t, []string{"a=1,b=2"}, carrier.(propagation.ValuesGetter).Values("Baggage"))
	require.Nil(t, carrier.(propagation.ValuesGetter).Values("absent"))
}

// Names come in any case, as those of net/http do.
func TestNamesInAnyCase(t *testing.T) {
	t.Parallel()
	carrier := OneValue(propagation.HeaderCarrier{"Traceparent": {"t"}, "X-B3-Traceid": {"b"}})
	for key, want := range map[string]string{"traceparent": "t", "Traceparent": "t", "TRACEPARENT": "t", "x-b3-traceid": "b", "baggage": ""} {
		require.Equal(t, want, carrier.Get(key), key)
	}
	require.Equal(t, carrier, OneValue(carrier), "it is not made of itself again")
}
