//go:build !lens_noop

package gym

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nemo-lens/lens/lenstest"
)

// recordEverything calls every recorder of the package.
func recordEverything(t *testing.T) {
	ctx := context.Background()
	recordRollout(ctx, time.Second, true)
	recordVerify(ctx, time.Second, true)
	RecordActiveServers(3)
	s := NewSandboxTracker("p")
	require.NoError(t, s.Start(ctx, func(context.Context) (string, error) { return "id", nil }))
	_, err := s.Exec(ctx, func(context.Context) (SandboxResult, error) { return SandboxResult{}, nil })
	require.NoError(t, err)
	s.CreateRetried(ctx)
	require.NoError(t, s.Stop(ctx, func(context.Context) error { return nil }))
	line := newServerTimeline("s", "", false, true, lookupIn(nil), clockAt(0).now)
	line.Mark("a")
	line.Report()
	sup := newSupervisorTimeline(lookupIn([]string{"NEMO_GYM_OTEL_ENABLED=1"}), clockAt(0).now)
	sup.ServerEnv("s", "")
	sup.ServerReady("s")
}

func TestMetrics63NothingIsRecordedWithoutAMeter(t *testing.T) {
	reset(t)
	lenstest.Start(t, SpanGroups.Groups().Groups()...)
	recordEverything(t)
	assert.False(t, IsMetricsExporterActive())

	telemetryState.current.Store(&telemetry{}) // not exporting
	recordEverything(t)

	broken := &telemetry{meter: brokenMeter{}}
	broken.metrics.Store(true)
	telemetryState.current.Store(broken)
	assert.NotPanics(t, func() { recordEverything(t) })
}

func TestMetrics64To65Values(t *testing.T) {
	m := withMetrics(t, "")
	ctx := context.Background()
	recordRollout(ctx, 125*time.Millisecond, false)
	points := m.histogram("gym.rollout.duration_ms")
	require.Len(t, points, 1)
	assert.EqualValues(t, 1, points[0].Count)
	assert.InDelta(t, 125, points[0].Sum, 0)
	assert.Zero(t, points[0].Attributes.Len())

	recordVerify(ctx, 40*time.Millisecond, true)
	assert.InDelta(t, 40, m.histogram("gym.verify.duration_ms")[0].Sum, 0)
	assert.Equal(t, map[string]float64{"": 1}, m.values("gym.verify.success_rate"))
	recordVerify(ctx, 0, true)
	recordVerify(ctx, 0, true)
	recordVerify(ctx, 0, false)
	assert.Equal(t, map[string]float64{"": 0.75}, m.values("gym.verify.success_rate"))
	assert.EqualValues(t, 4, m.histogram("gym.verify.duration_ms")[0].Count)

	RecordActiveServers(3)
	RecordActiveServers(5)
	assert.Equal(t, map[string]float64{"": 5}, m.values("gym.servers.active"))
	assert.NotContains(t, m.all(), "gym.server.request_duration_ms")
	for _, name := range []string{"gym.rollout.duration_ms", "gym.verify.duration_ms"} {
		assert.Equal(t, "ms", m.all()[name].Unit)
	}
}

func TestMetrics64OnlyFailures(t *testing.T) {
	m := withMetrics(t, "")
	recordVerify(context.Background(), 0, false)
	assert.Equal(t, map[string]float64{"": 0}, m.values("gym.verify.success_rate"))
}

func TestMetrics66InstrumentsAreOfOneMeter(t *testing.T) {
	first := withMetrics(t, "")
	RecordActiveServers(1)
	second := sdkmetric.NewManualReader()
	useMeter(sdkmetric.NewMeterProvider(sdkmetric.WithReader(second)), "")
	RecordActiveServers(2)
	assert.Equal(t, map[string]float64{"": 1}, first.values("gym.servers.active"))
	assert.Equal(t, map[string]float64{"": 2}, (&readings{t, second}).values("gym.servers.active"))
}

func TestMetrics68Bounds(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Sandbox)
	recordEverything(t)
	startup := []float64{100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000}
	sandbox := []float64{250, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000}
	for name, want := range map[string][]float64{
		"gym.server.startup_duration_ms": startup, "gym.server.startup_stage_duration_ms": startup,
		"gym.sandbox.startup_duration_ms": sandbox, "gym.sandbox.exec_duration_ms": sandbox,
	} {
		points := m.histogram(name)
		require.NotEmpty(t, points, name)
		assert.Equal(t, want, points[0].Bounds, name)
		assert.Equal(t, "ms", m.all()[name].Unit)
	}
	assert.Equal(t, "{sandbox}", m.all()["gym.sandbox.active"].Unit)
}

func TestMetricsProviderThatDoesNothing(t *testing.T) {
	t.Parallel()
	assert.False(t, exportsMetrics(nil))
	assert.False(t, exportsMetrics(noop.NewMeterProvider()))
	assert.True(t, exportsMetrics(sdkmetric.NewMeterProvider()))
	var _ metric.Meter = brokenMeter{}
}
