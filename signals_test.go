//go:build !lens_noop

package lens

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens/internal/otlptest"
)

func emitLog(ctx context.Context, h *TelemetryHandle, body string) {
	var r otellog.Record
	r.SetBody(attribute.StringValue(body))
	r.SetTimestamp(time.Now())
	r.SetSeverity(otellog.SeverityInfo)
	h.LoggerProvider().Logger("test").Emit(ctx, r)
}

func discard() Option { return WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))) }

func TestThreeSignalsOfOneRun(t *testing.T) {
	s := otlptest.Start(t)
	for protocol, url := range map[string]string{"grpc": s.GRPCURL(), "http/protobuf": s.HTTPURL()} {
		s.Reset()
		cfg := DefaultConfig()
		cfg.Enabled, cfg.LogsEnabled, cfg.Protocol, cfg.Endpoint, cfg.RunID = true, true, protocol, url, "run"
		cfg.ShutdownTimeout = 30 * time.Second
		// Another product's settings have no part in it.
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
		t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=theirs")
		cfg.Headers = "x-tenant=ours"
		h, err := SetupTelemetry(context.Background(), cfg, discard())
		require.NoError(t, err)
		require.Contains(t, h.Endpoint(), strings.TrimPrefix(url, "http://"))
		ctx, span := ManagedSpan(context.Background(), Job, "job")
		tokens, err := h.Meter().Int64Counter("tokens")
		require.NoError(t, err)
		tokens.Add(ctx, 42)
		emitLog(ctx, h, "loss is 0.3")
		End(span, nil)
		require.NoError(t, h.Shutdown(context.Background()), protocol)

		spans, logs := s.Spans(), s.Logs()
		require.Len(t, spans, 1)
		require.Len(t, logs, 1)
		require.Equal(t, spans[0].TraceID, logs[0].TraceID)
		require.Equal(t, spans[0].SpanID, logs[0].SpanID)
		require.Equal(t, spans[0].Resource, logs[0].Resource)
		require.Equal(t, "run", spans[0].Resource["nemo.run.id"])
		values := map[string]any{}
		for _, m := range s.Metrics() {
			require.Equal(t, spans[0].Resource, m.Resource, m.Name)
			for _, point := range m.Points {
				if point.Attributes["error.type"] == nil {
					values[m.Name] = point.Value
				}
			}
		}
		require.EqualValues(t, 42, values["tokens"])
		require.EqualValues(t, 1, values["otel.sdk.span.started"])
		require.EqualValues(t, 1, values["otel.sdk.exporter.span.exported"], "metrics are read after the spans went out")
		require.EqualValues(t, 0, values["otel.sdk.span.live"])
		require.Contains(t, values, "otel.sdk.exporter.operation.duration")
		require.EqualValues(t, 3, values["nemo.lens.span_groups.enabled"], "those that were on when the shutdown began")
		for _, r := range s.Requests() {
			require.Equal(t, []string{"ours"}, r.Header.Values("x-tenant"))
			require.Empty(t, r.Header.Values("api-key"))
		}
		st := h.Stats()
		require.EqualValues(t, 1, st.Logs.Exported)
		require.NotZero(t, st.Metrics.Exported)
		require.Zero(t, st.Metrics.Lost+st.Logs.Lost)
	}
}

func TestEachSignalReportsItsLoss(t *testing.T) {
	for name, addr := range map[string]string{"closed": otlptest.ClosedAddr(t), "silent": otlptest.SilentAddr(t)} {
		cfg := DefaultConfig()
		cfg.Enabled, cfg.LogsEnabled, cfg.Endpoint, cfg.ShutdownTimeout = true, true, "http://"+addr, 600*time.Millisecond
		h, err := SetupTelemetry(context.Background(), cfg, discard())
		require.NoError(t, err)
		ctx, span := ManagedSpan(context.Background(), Job, "job")
		emitLog(ctx, h, "x")
		End(span, nil)
		err = h.Shutdown(context.Background())
		require.ErrorContains(t, err, "1 of 1 spans lost", name)
		require.ErrorContains(t, err, "data points lost", name)
		require.ErrorContains(t, err, "1 of 1 log records lost", name)
		require.ErrorContains(t, err, addr, name)
		st := h.Stats()
		require.EqualValues(t, 1, st.Dropped+st.Failed, name)
		require.EqualValues(t, 1, st.Logs.Lost, name)
		require.NotZero(t, st.Metrics.Lost, name)
		require.Equal(t, err, h.Shutdown(context.Background()), "the same result for every caller")
	}
}

func TestMetricReaderAndGlobals(t *testing.T) {
	meters, loggers := otel.GetMeterProvider(), otel.GetLoggerProvider()
	reader := sdkmetric.NewManualReader()
	cfg := DefaultConfig()
	cfg.Enabled, cfg.LogsEnabled, cfg.RuntimeMetrics = true, true, true
	t.Setenv("OTEL_LOGS_EXPORTER", "none") // or logs would be off
	h, err := SetupTelemetry(context.Background(), cfg, discard(), WithSpanExporter(tracetest.NewInMemoryExporter()), WithMetricReader(reader))
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	require.Equal(t, h.MeterProvider(), otel.GetMeterProvider())
	require.Equal(t, h.LoggerProvider(), otel.GetLoggerProvider())
	_, open := ManagedSpan(context.Background(), Job, "job")
	defer open.End()
	var data metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &data))
	names := map[string]bool{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			names[m.Name] = true
		}
	}
	require.True(t, names["otel.sdk.span.live"] && names["nemo.lens.span_groups.enabled"], names)
	require.True(t, names["go.goroutine.count"], names)
	// Nobody has named a place for metrics, so no collector is called.
	require.NoError(t, h.Shutdown(context.Background()))
	require.Equal(t, meters, otel.GetMeterProvider())
	require.Equal(t, loggers, otel.GetLoggerProvider())
}

func TestSignalsThatAreOffCostNothing(t *testing.T) {
	for _, on := range []string{"none", "metrics"} {
		cfg := DefaultConfig()
		cfg.Enabled, cfg.TracesEnabled, cfg.MetricsEnabled = true, false, on == "metrics"
		cfg.Exporter = exporterNone
		h, err := SetupTelemetry(context.Background(), cfg, discard())
		require.NoError(t, err)
		require.Equal(t, on == "metrics", h.IsExporting())
		require.False(t, IsSpanGroupEnabled(Job))
		SetEnabledSpanGroups(Job)
		for _, tracer := range []string{"managed", "cm", "handle", "global", "group"} {
			ctx := context.Background()
			switch tracer {
			case "managed":
				_, span := ManagedSpan(ctx, Job, "x")
				require.False(t, span.IsRecording())
			case "cm":
				_, span := SpanCM(ctx, "x")
				require.False(t, span.IsRecording())
			case "handle":
				_, span := h.Tracer().Start(ctx, "x")
				require.False(t, span.IsRecording())
			case "global":
				_, span := Tracer().Start(ctx, "x")
				require.False(t, span.IsRecording())
			case "group":
				_, span := GroupTracerProvider(Job).Tracer("x").Start(ctx, "x")
				require.False(t, span.IsRecording())
			}
		}
		require.Nil(t, h.OpenSpans())
		require.Zero(t, h.Stats().Started)
		require.NoError(t, h.Shutdown(context.Background()))
	}
	var none *TelemetryHandle
	counter, err := none.Meter().Int64Counter("x")
	require.NoError(t, err)
	counter.Add(context.Background(), 1)
	emitLog(context.Background(), none, "x")
}

func TestConsoleHoldsOneObjectALineOfEverySignal(t *testing.T) {
	var out bytes.Buffer
	cfg := DefaultConfig()
	cfg.Enabled, cfg.LogsEnabled, cfg.Exporter = true, true, exporterConsole
	h, err := SetupTelemetry(context.Background(), cfg, discard(), WithConsoleWriter(&out))
	require.NoError(t, err)
	ctx, span := ManagedSpan(context.Background(), Job, "job")
	emitLog(ctx, h, "hello")
	End(span, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), line)
	}
}

func TestHeadersAreNeverShown(t *testing.T) {
	cfg, err := fromEnviron([]string{"NEMO_LENS_HEADERS=authorization=Bearer%20hunter2", "NEMO_LENS_ENDPOINT=http://me:hunter2@host:4317", "NEMO_LENS_ENABLED=1"}, "", "", nil)
	require.NoError(t, err)
	require.NotContains(t, cfg.String(), "hunter2")
	require.Contains(t, cfg.String(), "headers=[REDACTED] (NEMO_LENS_HEADERS)")
	_, err = SetupTelemetry(context.Background(), cfg, discard())
	require.ErrorContains(t, err, "NEMO_LENS_ENDPOINT")
	require.NotContains(t, err.Error(), "hunter2")
	cfg.Endpoint, cfg.Protocol = "http://host:4317", "grcp"
	_, err = SetupTelemetry(context.Background(), cfg, discard())
	require.ErrorContains(t, err, "grcp")
}

func TestOneLineSaysWhatASetupDid(t *testing.T) {
	for _, c := range []struct {
		want string
		cfg  Config
		rank int
		env  string
	}{
		{"telemetry is off\" why=\"ENABLED is false\"", DefaultConfig(), 0, ""},
		{"telemetry is off\" why=\"OTEL_SDK_DISABLED is true\"", jobConfig("all_ranks", 1), 0, "true"},
		{"this process exports nothing\" strategy=single_rank", jobConfig("single_rank", 1), 0, ""},
		{"telemetry is on\" traces=none metrics=none logs=off", jobConfig("single_rank", 1), 1, ""},
	} {
		t.Setenv("OTEL_SDK_DISABLED", c.env)
		c.cfg.Exporter = exporterNone
		var text bytes.Buffer
		h, err := SetupTelemetry(context.Background(), c.cfg, WithRank(c.rank, 2),
			WithLogger(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		require.NoError(t, err)
		require.NoError(t, h.Shutdown(context.Background()))
		require.Contains(t, text.String(), c.want)
		require.Equal(t, 1, strings.Count(text.String(), "\n"), text.String())
	}
}
