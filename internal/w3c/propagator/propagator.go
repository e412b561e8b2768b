// Package propagator makes what package w3c reads and writes a propagator of
// OpenTelemetry's.
package propagator

import (
	"context"

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
	return w3c.ExtractTrace(ctx, carrier)
}

// Fields returns the names of the headers.
func (TraceContext) Fields() []string { return propagation.TraceContext{}.Fields() }
