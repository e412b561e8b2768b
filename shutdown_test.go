//go:build !lens_noop

package lens

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// gatedExporter takes a batch once it is opened, or its context is done.
type gatedExporter struct{ open chan struct{} }

func (e gatedExporter) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	select {
	case <-e.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (gatedExporter) Shutdown(context.Context) error { return nil }

// The spans have the whole time of a shutdown, whatever other signals are on.
func TestNoSignalTakesTheTimeOfAnother(t *testing.T) {
	t.Setenv("OTEL_METRICS_EXPORTER", "none") // on, and without a network
	t.Setenv("OTEL_LOGS_EXPORTER", "none")
	synctest.Test(t, func(t *testing.T) {
		cfg := jobConfig("all_ranks", 1)
		cfg.LogsEnabled, cfg.ShutdownTimeout = true, time.Minute
		e := gatedExporter{make(chan struct{})}
		h, err := SetupTelemetry(context.Background(), cfg, discard(), WithSpanExporter(e))
		require.NoError(t, err)
		require.NotNil(t, h.recording.Metrics)
		require.NotNil(t, h.recording.Logs)
		_, span := ManagedSpan(context.Background(), Job, "job")
		End(span, nil)
		ctx, cancel := context.WithTimeout(context.Background(), 900*time.Millisecond)
		defer cancel()
		// Beyond an equal share of the time.
		time.AfterFunc(899*time.Millisecond, func() { close(e.open) })
		require.NoError(t, h.Shutdown(ctx))
		require.EqualValues(t, 1, h.Stats().Exported)
	})
}

// askingHandler asks for the set-up from inside of it.
type askingHandler struct{ slog.Handler }

func (h askingHandler) Handle(ctx context.Context, r slog.Record) error {
	r.AddAttrs(slog.String("run", Current().RunID()))
	return h.Handler.Handle(ctx, r)
}

func TestCurrentMayBeAskedFromInsideOfASetup(t *testing.T) {
	cfg := jobConfig("all_ranks", 1)
	cfg.Exporter = exporterNone
	h, err := SetupTelemetry(context.Background(), cfg,
		WithLogger(slog.New(askingHandler{slog.NewTextHandler(io.Discard, nil)})),
		WithExportStrategy(func(Config, int, int) (bool, error) { return Current() == nil, nil }))
	require.NoError(t, err)
	require.True(t, h.IsExporting())
	require.NoError(t, h.Shutdown(context.Background()))
}

// An operator's spec means the same on every rank, and opens nothing on those
// that do not export.
func TestSpecOnARankThatDoesNotExport(t *testing.T) {
	cfg := jobConfig("single_rank", 1)
	cfg.Groups = MustGroupClass("mine", []SpanGroup{"alpha", "beta"}, map[string][]SpanGroup{"p": {"alpha"}})
	cfg.SpanGroups, cfg.Exporter = "beta", exporterNone
	for rank, exports := range []bool{false, true} {
		h, err := SetupTelemetry(context.Background(), cfg, discard(), WithRank(rank, 2))
		require.NoError(t, err)
		require.Equal(t, exports, h.IsExporting())
		require.NoError(t, SetSpanGroupSpec("p"))
		require.Equal(t, exports, IsSpanGroupEnabled("alpha"))
		require.Error(t, SetSpanGroupSpec("step"))
		require.NoError(t, h.Shutdown(context.Background()))
		require.Zero(t, EnabledSpanGroups().Len())
	}
}
