//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

func TestD2APropagatorSetLaterStays(t *testing.T) {
	globals(t)
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	otel.SetTextMapPropagator(propagation.Baggage{})
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Equal(t, propagation.Baggage{}, otel.GetTextMapPropagator())
}

func TestD5TheEndOfAnOutageIsSaid(t *testing.T) {
	s := otlptest.Start(t)
	s.SetFault(otlptest.Reject(codes.InvalidArgument, 400))
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	for range 5 {
		makeSpans(1)
		_ = tm.ForceFlush(context.Background())
	}
	require.Eventually(t, func() bool { return strings.Contains(tm.log.String(), "spans are being lost") }, limit, time.Millisecond)
	require.NotContains(t, tm.log.String(), "again")
	s.SetFault()
	makeSpans(1)
	require.NoError(t, tm.ForceFlush(context.Background()))
	makeSpans(1)
	require.NoError(t, tm.ForceFlush(context.Background()))
	require.Equal(t, 1, strings.Count(tm.log.String(), "failures="), "one line says that spans are exported again: %s", tm.log)
}

// The SDK reads OTEL_RESOURCE_ATTRIBUTES itself and complains through the error handler.
var badResource = program("C9 logger", func() {
	h := mustSetUp(lens.WithLogger(slog.New(slog.NewTextHandler(os.Stdout, nil))))
	makeSpans(1)
	check(h.Shutdown(context.Background()), 80)
})

func TestC9NothingIsSaidPastTheLogger(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := runChild(t, badResource, exportTo(grpcProtocol, s.GRPCURL(), "NEMO_LENS_METRICS_ENABLED=1", "NEMO_LENS_LOGS_ENABLED=1",
		"OTEL_RESOURCE_ATTRIBUTES=team=blue,nonsense")...)
	require.Zero(t, p.status(t), &p.stderr)
	require.Empty(t, p.stderr.String())
	require.Contains(t, p.stdout.String(), "OTEL_RESOURCE_ATTRIBUTES")
	require.Equal(t, "blue", s.Spans()[0].Resource["team"])
}
