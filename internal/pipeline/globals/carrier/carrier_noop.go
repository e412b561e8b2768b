//go:build lens_noop

package carrier

import (
	"context"

	"github.com/nemo-lens/lens/internal/web/w3c"
)

// Inject writes the span context and the baggage of ctx.
func Inject(ctx context.Context, carrier map[string]string) { w3c.Inject(ctx, w3c.Map(carrier)) }

// Extract returns ctx with the span context and the baggage of the carrier.
func Extract(ctx context.Context, carrier map[string]string) context.Context {
	return w3c.Extract(ctx, w3c.Map(carrier))
}
