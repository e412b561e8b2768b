//go:build !lens_noop

package gym

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
)

// on makes the environment one in which telemetry is on and nothing is sent.
func on(t *testing.T, more ...string) {
	t.Helper()
	clearEnv(t)
	reset(t)
	for _, entry := range append([]string{"NEMO_GYM_OTEL_ENABLED=1", "NEMO_GYM_OTEL_EXPORTER=none"}, more...) {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
}

// quietly keeps the messages of lens out of the tests' output.
func quietly(opts ...lens.Option) InitOption {
	return WithLensOptions(append([]lens.Option{lens.WithLogger(textLogger(io.Discard))}, opts...)...)
}

func TestLifecycle32Disabled(t *testing.T) {
	clearEnv(t)
	reset(t)
	before := os.Environ()
	assert.Nil(t, GetTelemetry())
	assert.Nil(t, InitTelemetry(WithServerName("s")))
	assert.Nil(t, GetTelemetry())
	assert.False(t, IsMetricsExporterActive())
	assert.Equal(t, before, os.Environ())
	ShutdownTelemetry(time.Second)

	// Case 38: the first call settles it.
	t.Setenv("NEMO_GYM_OTEL_ENABLED", "1")
	assert.Nil(t, InitTelemetry(quietly()))
}

func TestLifecycle33BadSettings(t *testing.T) {
	for _, bad := range []string{"NEMO_GYM_OTEL_TRACES_ENABLED=garbage", "NEMO_LENS_LOGS_ENABLED=garbage", "NEMO_GYM_OTEL_EXPORTER=carrier-pigeon",
		"OTEL_EXPORTER_OTLP_ENDPOINT=:://"} {
		t.Run(bad, func(t *testing.T) {
			on(t, bad)
			if strings.HasPrefix(bad, "OTEL") {
				t.Setenv("NEMO_GYM_OTEL_EXPORTER", "otlp")
			}
			var text strings.Builder
			captureLog(t, &text)
			assert.Nil(t, InitTelemetry(quietly()))
			assert.Nil(t, GetTelemetry())
			assert.Contains(t, text.String(), "telemetry is off")
			assert.False(t, lens.IsSpanGroupEnabled(Server))
		})
	}
	t.Run("panic", func(t *testing.T) {
		on(t)
		captureLog(t, io.Discard)
		assert.Nil(t, InitTelemetry(WithLensOptions(lens.WithSpanProcessor(nil), func() lens.Option { return nil }()), func(*initOptions) {},
			WithLensOptions(lens.WithExportStrategy(func(lens.Config, int, int) (bool, error) { panic("boom") }))))
	})
}

func TestLifecycle34To36Console(t *testing.T) {
	on(t, "NEMO_GYM_OTEL_EXPORTER=console", "OTEL_SERVICE_NAME=nemo-gym", "NEMO_GYM_OTEL_RUN_ID=run-1")
	var out bytes.Buffer
	rec := tracetest.NewSpanRecorder()
	h := InitTelemetry(WithServerName("policy_model"), WithServerType(ServerTypeModel),
		WithResourceAttributes(attribute.String("team", "evals"), attribute.String("nemo.gym.server.type", "mine")),
		quietly(lens.WithConsoleWriter(&out), lens.WithSpanProcessor(rec)))
	require.True(t, h.IsExporting())
	assert.Same(t, h, GetTelemetry())
	assert.Same(t, h, InitTelemetry(WithServerName("other")), "case 38")
	assert.Equal(t, "run-1", h.RunID())

	assert.True(t, lens.IsSpanGroupEnabled(Server) && lens.IsSpanGroupEnabled(Rollout)) // case 35
	assert.False(t, lens.IsSpanGroupEnabled(Sandbox))

	_, span := lens.ManagedSpan(context.Background(), Rollout, "x")
	span.End()
	resource := resourceOf(t, rec)
	for key, want := range map[string]any{
		"service.name": "nemo-gym/policy_model", "nemo.gym.service_group": "nemo-gym",
		"nemo.gym.server.name": "policy_model", "nemo.run.id": "run-1",
		"nv.dl.rank": int64(0), "nv.dl.world_size": int64(1), // case 40
		"team": "evals", "nemo.gym.server.type": "mine", // case 37: the caller's win
	} {
		assert.Equal(t, want, resource[key], key)
	}
	assert.Equal(t, lens.Version, resource["nemo.gym.version"])

	ShutdownTelemetry(0)
	ShutdownTelemetry(0) // case 43
	assert.Contains(t, out.String(), `"Name":"x"`)
	assert.Same(t, h, GetTelemetry())
	assert.Same(t, h, InitTelemetry())
	assert.False(t, lens.IsSpanGroupEnabled(Rollout))
}

func resourceOf(t *testing.T, rec *tracetest.SpanRecorder) map[string]any {
	t.Helper()
	require.NotEmpty(t, rec.Ended())
	out := make(map[string]any)
	for _, kv := range rec.Ended()[0].Resource().Attributes() {
		out[string(kv.Key)] = kv.Value.AsInterface()
	}
	return out
}

func TestLifecycle36ServiceNames(t *testing.T) {
	for _, tc := range []struct {
		server string
		env    []string
		want   string
	}{
		{"policy_model", []string{"NEMO_GYM_OTEL_SERVICE_NAME_PER_SERVER=0"}, "nemo-gym"},
		{"policy_model", []string{"NEMO_GYM_OTEL_SERVICE_NAME_PER_SERVER=garbage"}, "nemo-gym"},
		{"policy_model", []string{"NEMO_GYM_OTEL_SERVICE_NAME_PER_SERVER= "}, "nemo-gym/policy_model"},
		{"policy_model", []string{"OTEL_SERVICE_NAME=mine"}, "mine/policy_model"},
		{"", nil, "nemo-gym"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			on(t, tc.env...)
			rec := tracetest.NewSpanRecorder()
			require.NotNil(t, InitTelemetry(WithServerName(tc.server), quietly(lens.WithSpanProcessor(rec))))
			_, span := lens.ManagedSpan(context.Background(), Job, "x")
			span.End()
			assert.Equal(t, tc.want, resourceOf(t, rec)["service.name"])
			if tc.server == "" {
				assert.NotContains(t, resourceOf(t, rec), "nemo.gym.server.name")
				assert.NotContains(t, resourceOf(t, rec), "nemo.gym.server.type")
			}
		})
	}
}

func TestLifecycle39Concurrent(t *testing.T) {
	on(t)
	var text lockedBuffer
	handles := make([]*lens.TelemetryHandle, 16)
	var wg sync.WaitGroup
	for i := range handles {
		wg.Go(func() { handles[i] = InitTelemetry(WithLensOptions(lens.WithLogger(textLogger(&text)))) })
	}
	wg.Wait()
	for _, h := range handles {
		require.NotNil(t, h)
		assert.Same(t, handles[0], h)
	}
	assert.Equal(t, 1, strings.Count(text.String(), "telemetry is on"))
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Every process exports, whatever the job's strategy for its ranks.
func TestLifecycle40EveryProcessExports(t *testing.T) {
	on(t, "NEMO_LENS_EXPORT_STRATEGY=sampled", "NEMO_LENS_EXPORT_SAMPLE_RATE=0", "NEMO_LENS_EXPORT_RANK=7")
	assert.True(t, InitTelemetry(quietly()).IsExporting())
}

func TestLifecycle41SetUpByTheProgram(t *testing.T) {
	on(t, "NEMO_GYM_OTEL_TRACES_ENABLED=garbage") // is not even read
	captureLog(t, io.Discard)
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.Groups, cfg.RunID = true, "none", lens.DefaultRegistry, "owner"
	rec := tracetest.NewSpanRecorder()
	owner, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(textLogger(io.Discard)), lens.WithSpanProcessor(rec))
	require.NoError(t, err)
	defer func() { _ = owner.Shutdown(context.Background()) }()

	h := InitTelemetry(WithServerName("agent"), quietly())
	require.True(t, h.IsExporting())
	assert.Same(t, owner, h)
	assert.Equal(t, "owner", h.RunID())
	assert.True(t, lens.IsSpanGroupEnabled(Server), "Gym's groups are on under the owner's default")
	ShutdownTelemetry(0)
	assert.True(t, lens.IsSpanGroupEnabled(Server), "the owner's telemetry goes on")
	_, span := lens.ManagedSpan(context.Background(), Rollout, "after")
	span.End()
	assert.Len(t, rec.Ended(), 1)
}

// A set-up of the program that exports nothing settles it for Gym, too.
func TestLifecycle41ProgramExportsNothing(t *testing.T) {
	on(t)
	captureLog(t, io.Discard)
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.RunID = true, "owner"
	nobody := func(lens.Config, int, int) (bool, error) { return false, nil }
	owner, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(textLogger(io.Discard)), lens.WithExportStrategy(nobody))
	require.NoError(t, err)
	defer func() { _ = owner.Shutdown(context.Background()) }()
	assert.Nil(t, InitTelemetry(quietly(), WithServerName("agent")))
	assert.False(t, lens.IsSpanGroupEnabled(Rollout))
	ShutdownTelemetry(0)
	assert.Same(t, owner, lens.Current())
}

// Gym's own variables are not warned about; a misspelt one is.
func TestLifecycleOwnVariablesAreDeclared(t *testing.T) {
	on(t, "NEMO_GYM_OTEL_INSTRUMENT_AIOHTTP=1", "NEMO_GYM_OTEL_EXPORTERS=x", "NEMO_LENS_MEMORY_PROFILING_ENABLED=1")
	captureLog(t, io.Discard)
	env, _ := TelemetryEnv(config(nil), nil)
	for _, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "NEMO_GYM_OTEL_") && os.Getenv(name) == "" {
			t.Setenv(name, value)
		}
	}
	var text strings.Builder
	require.NotNil(t, InitTelemetry(WithLensOptions(lens.WithLogger(textLogger(&text)), lens.WithSpanExporter(failingExporter{}))))
	ShutdownTelemetry(time.Second)
	assert.Equal(t, 2, strings.Count(text.String(), "is not one that lens reads"), text.String())
	assert.Contains(t, text.String(), "NEMO_GYM_OTEL_EXPORTERS")
	assert.Contains(t, text.String(), "NEMO_LENS_MEMORY_PROFILING_ENABLED")
}

func TestLifecycle43FailingShutdown(t *testing.T) {
	on(t)
	var text strings.Builder
	captureLog(t, &text)
	require.NotNil(t, InitTelemetry(quietly(lens.WithSpanExporter(failingExporter{}))))
	_, span := lens.ManagedSpan(context.Background(), Rollout, "lost")
	span.End()
	assert.NotPanics(t, func() { ShutdownTelemetry(time.Second) })
	assert.Contains(t, text.String(), "not exported completely")
}

type failingExporter struct{}

func (failingExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("no")
}
func (failingExporter) Shutdown(context.Context) error { return errors.New("no") }

// The cheap gate says on and the full parse something else.
func TestLifecycle44GateAndConfiguration(t *testing.T) {
	on(t, "OTEL_SDK_DISABLED=true")
	assert.Nil(t, InitTelemetry(quietly()))
	assert.False(t, IsMetricsExporterActive())
	assert.False(t, lens.IsSpanGroupEnabled(Server))
}

func TestLifecycle45LogBridge(t *testing.T) {
	before := installLogBridge
	defer func() { installLogBridge = before }()
	for _, fault := range []error{nil, errors.New("no bridge")} {
		on(t, "NEMO_GYM_OTEL_LOGS_ENABLED=1")
		captureLog(t, io.Discard)
		installed, removed := 0, 0
		installLogBridge = func(*lens.TelemetryHandle) (func(), error) {
			installed++
			if fault != nil {
				return nil, fault
			}
			return func() { removed++ }, nil
		}
		assert.True(t, InitTelemetry(quietly()).IsExporting())
		InitTelemetry()
		assert.Equal(t, 1, installed)
		ShutdownTelemetry(0)
		if fault == nil {
			assert.Equal(t, 1, removed)
		}
	}
	on(t)
	installLogBridge = func(*lens.TelemetryHandle) (func(), error) { t.Error("logs are off"); return nil, nil }
	require.NotNil(t, InitTelemetry(quietly()))
}

// The real bridge: what the default logger says goes where it went and to the
// console exporter, with the trace of its context.
func TestLifecycle45RealLogBridge(t *testing.T) {
	on(t, "NEMO_GYM_OTEL_LOGS_ENABLED=1", "NEMO_GYM_OTEL_EXPORTER=console", "NEMO_GYM_OTEL_METRICS_ENABLED=0")
	var kept, exported lockedBuffer
	captureLog(t, &kept)
	before := slog.Default()
	require.NotNil(t, InitTelemetry(quietly(lens.WithConsoleWriter(&exported))))
	ctx, span := lens.ManagedSpan(context.Background(), Rollout, "x")
	slog.InfoContext(ctx, "a record", "n", 7)
	span.End()
	ShutdownTelemetry(0)
	assert.Same(t, before, slog.Default())
	assert.Contains(t, kept.String(), "a record")
	var record string
	for line := range strings.Lines(exported.String()) {
		if strings.Contains(line, "a record") {
			record += line
		}
	}
	assert.Equal(t, 1, strings.Count(record, "\n"), exported.String())
	assert.Contains(t, record, span.SpanContext().TraceID().String())
}

func TestLifecycleMetrics(t *testing.T) {
	for _, env := range []string{"NEMO_LENS_METRICS_ENABLED=0", "NEMO_GYM_OTEL_METRICS_ENABLED=off"} {
		on(t, env)
		require.NotNil(t, InitTelemetry(quietly()))
		assert.False(t, IsMetricsExporterActive(), env)
	}
	on(t, "NEMO_GYM_OTEL_TRACES_ENABLED=0") // metrics alone
	reader := sdkmetric.NewManualReader()
	require.NotNil(t, InitTelemetry(WithServerName("agent"), quietly(lens.WithMetricReader(reader))))
	assert.True(t, IsMetricsExporterActive())
	RecordActiveServers(3)
	assert.Equal(t, map[string]float64{"": 3}, (&readings{t, reader}).values("gym.servers.active"))
	assert.False(t, lens.IsSpanGroupEnabled(Server))
	ShutdownTelemetry(0)
	assert.False(t, IsMetricsExporterActive())
	RecordActiveServers(4)
}

// A borrowed set-up has metrics when it exports them.
func TestLifecycle41BorrowedMetrics(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		on(t)
		captureLog(t, io.Discard)
		cfg := lens.DefaultConfig()
		cfg.Enabled, cfg.Exporter, cfg.Groups, cfg.MetricsEnabled = true, "none", lens.DefaultRegistry, enabled
		reader := sdkmetric.NewManualReader()
		owner, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(textLogger(io.Discard)), lens.WithMetricReader(reader))
		require.NoError(t, err)
		assert.Same(t, owner, InitTelemetry())
		assert.Equal(t, enabled, IsMetricsExporterActive())
		RecordActiveServers(3)
		ShutdownTelemetry(0)
		if enabled {
			assert.Equal(t, map[string]float64{"": 3}, (&readings{t, reader}).values("gym.servers.active"))
		}
		require.NoError(t, owner.Shutdown(context.Background()))
	}
}
