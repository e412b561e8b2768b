//go:build !lens_noop

package lens

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/otlptest"
)

func setUpTo(t *testing.T, protocol, url string) *TelemetryHandle {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	cfg := DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.ShutdownTimeout = true, "all", 300*time.Millisecond
	h, err := SetupTelemetry(context.Background(), cfg, WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	return h
}

func TestSpansReachAReceiverOverBothProtocols(t *testing.T) {
	s := otlptest.Start(t)
	for protocol, url := range map[string]string{"grpc": s.GRPCURL(), "http/protobuf": s.HTTPURL()} {
		s.Reset()
		h := setUpTo(t, protocol, url)
		ctx, job := ManagedSpan(context.Background(), Job, "job", attribute.String("bad", "\xff"))
		_, step := ManagedSpan(ctx, Step, "step")
		End(step, nil)
		End(job, nil)
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, h.ForceFlush(cancelled), protocol) // a cancelled context loses nothing
		require.NoError(t, h.Shutdown(cancelled), protocol)
		spans := s.Spans()
		require.Len(t, spans, 2, protocol)
		require.EqualValues(t, 2, h.Stats().Exported, protocol)
	}
}

func TestDeadAndSilentCollectorsDoNotStallTheExit(t *testing.T) {
	for name, addr := range map[string]string{"closed": otlptest.ClosedAddr(t), "silent": otlptest.SilentAddr(t)} {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			h := setUpTo(t, protocol, "http://"+addr)
			for range 7 {
				_, span := ManagedSpan(context.Background(), Step, "step")
				End(span, nil)
			}
			done := make(chan error, 1)
			go func() { done <- h.Shutdown(context.Background()) }()
			select {
			case err := <-done:
				require.ErrorContains(t, err, addr, "%s %s", name, protocol)
				require.ErrorContains(t, err, "7 of 7 spans lost", "%s %s", name, protocol)
				if name == "closed" {
					require.ErrorContains(t, err, "connection refused", protocol)
				}
			case <-time.After(30 * time.Second): // far above the limit of 0.3 s
				t.Fatalf("%s %s: Shutdown does not return", name, protocol)
			}
			st := h.Stats()
			require.EqualValues(t, 7, st.Dropped+st.Failed, "%s %s", name, protocol)
		}
	}
}
