//go:build !race && !lens_noop

package lens

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
)

// The race detector allocates on its own, so this file is left out with it.
func TestOnAllocatesAtMostFive(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Enabled, cfg.SpanGroups = true, "step"
	h, err := SetupTelemetry(context.Background(), cfg, WithSpanExporter(discardSpans{}), WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	ctx := context.Background()
	n := testing.AllocsPerRun(1000, func() {
		_, span := ManagedSpan(ctx, Step, "x", attribute.Int("i", 1), attribute.String("s", "t"))
		End(span, nil)
	})
	require.LessOrEqual(t, n, 5.0)
}
