//go:build !lens_noop

package carrier

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/web/w3c/propagator"
)

// Inject writes the span context and the baggage of ctx.
func Inject(ctx context.Context, carrier map[string]string) {
	global().Inject(ctx, propagation.MapCarrier(carrier))
}

// Extract returns ctx with the span context and the baggage of the carrier.
func Extract(ctx context.Context, carrier map[string]string) context.Context {
	return global().Extract(ctx, propagation.MapCarrier(carrier))
}

// global is the global propagator when the application or a set-up has installed one,
// else W3C trace context and baggage: OTel's own default carries nothing.
func global() propagation.TextMapPropagator {
	if p := otel.GetTextMapPropagator(); !globals.IsDefault(p) {
		return p
	}
	return propagator.W3C
}
