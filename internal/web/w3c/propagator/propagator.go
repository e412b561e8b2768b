// Package propagator makes what package w3c reads and writes a propagator of
// OpenTelemetry's.
package propagator

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/web/w3c"
)

// TraceContext is the propagator for traceparent and tracestate.
type TraceContext struct{}

// W3C carries the trace context and the baggage.
var W3C = propagation.NewCompositeTextMapPropagator(TraceContext{}, propagation.Baggage{})

// Inject writes the span context of ctx, if it is valid.
func (TraceContext) Inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	w3c.InjectTrace(ctx, carrier)
}

// Extract returns ctx with the remote span context of the carrier, or ctx
// itself when the carrier holds none that is valid.
func (TraceContext) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return w3c.ExtractTrace(ctx, OneValue(carrier))
}

// Fields returns the names of the headers.
func (TraceContext) Fields() []string { return propagation.TraceContext{}.Fields() }

// OneValue returns the carrier of incoming headers in a form that has at most
// one value for a key: those of a list (tracestate, baggage) are joined, and
// several values of any other key are none, as nobody can tell which is true.
func OneValue(carrier propagation.TextMapCarrier) propagation.TextMapCarrier {
	switch c := carrier.(type) {
	case oneValue:
		return c
	case propagation.HeaderCarrier:
		return oneValue{headers{c}, headers{c}}
	case propagation.ValuesGetter:
		return oneValue{carrier, c}
	}
	return carrier
}

// headers knows the names of the W3C's headers in the form that a [http.Header] has
// them in: to find it out of another form takes an allocation each time.
type headers struct{ propagation.HeaderCarrier }

func (h headers) Get(key string) string {
	if v := h.Values(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (h headers) Values(key string) []string {
	switch key {
	case "traceparent":
		key = "Traceparent"
	case "tracestate":
		key = "Tracestate"
	case "baggage":
		key = "Baggage"
	default:
		key = http.CanonicalHeaderKey(key)
	}
	return h.HeaderCarrier[key]
}

type oneValue struct {
	propagation.TextMapCarrier
	many propagation.ValuesGetter
}

func (c oneValue) Get(key string) string {
	values := c.many.Values(key)
	if len(values) > 1 {
		switch strings.ToLower(key) {
		case "tracestate", "baggage":
			return strings.Join(values, ",")
		}
		return ""
	}
	return c.TextMapCarrier.Get(key)
}

// Values is for propagators that join a list themselves.
func (c oneValue) Values(key string) []string {
	if v := c.Get(key); v != "" {
		return []string{v}
	}
	return nil
}
