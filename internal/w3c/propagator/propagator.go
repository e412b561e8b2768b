// Package propagator makes what package w3c reads and writes a propagator of
// OpenTelemetry's.
package propagator

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/w3c"
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
	if many, ok := carrier.(propagation.ValuesGetter); ok {
		return oneValue{carrier, many}
	}
	return carrier
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
