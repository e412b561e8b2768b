//go:build !lens_noop

package gym

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reset makes the process one that has not called InitTelemetry.
func reset(t testing.TB) {
	t.Helper()
	restore := func() {
		ShutdownTelemetry(0)
		telemetryState.mu.Lock()
		defer telemetryState.mu.Unlock()
		telemetryState.attempted = false
		telemetryState.current.Store(nil)
		verifications.Lock()
		defer verifications.Unlock()
		verifications.ok, verifications.all = 0, 0
	}
	restore()
	t.Cleanup(restore)
}

// readings are the metrics of one test.
type readings struct {
	tb     testing.TB
	reader *sdkmetric.ManualReader
}

// withMetrics makes the process one whose metrics can be read, for a server of
// that name.
func withMetrics(t testing.TB, serverName string) *readings {
	t.Helper()
	reset(t)
	r := &readings{t, sdkmetric.NewManualReader()}
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	useMeter(p, serverName)
	return r
}

func useMeter(p metric.MeterProvider, serverName string) {
	tel := &telemetry{serverName: serverName, meters: p, meter: p.Meter("nemo.lens")}
	tel.metrics.Store(true)
	telemetryState.current.Store(tel)
}

// all returns the metrics by name.
func (r *readings) all() map[string]metricdata.Metrics {
	r.tb.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(r.tb, r.reader.Collect(context.Background(), &rm))
	out := make(map[string]metricdata.Metrics)
	for _, s := range rm.ScopeMetrics {
		for _, m := range s.Metrics {
			out[m.Name] = m
		}
	}
	return out
}

func (r *readings) histogram(name string) []metricdata.HistogramDataPoint[float64] {
	r.tb.Helper()
	h, _ := r.all()[name].Data.(metricdata.Histogram[float64])
	return h.DataPoints
}

// values returns the points of a gauge or counter by their attributes.
func (r *readings) values(name string) map[string]float64 {
	r.tb.Helper()
	out := make(map[string]float64)
	put := func(set attribute.Set, v float64) { out[set.Encoded(attribute.DefaultEncoder())] = v }
	switch d := r.all()[name].Data.(type) {
	case nil:
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			put(p.Attributes, p.Value)
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			put(p.Attributes, float64(p.Value))
		}
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			put(p.Attributes, float64(p.Value))
		}
	default:
		r.tb.Fatalf("%s is a %T", name, d)
	}
	return out
}

// attributesOf returns the attributes of a span.
func attributesOf(s sdktrace.ReadOnlySpan) map[string]any {
	out := make(map[string]any)
	for _, kv := range s.Attributes() {
		out[string(kv.Key)] = kv.Value.AsInterface()
	}
	return out
}

func attributesOfSet(s attribute.Set) map[string]any {
	out := make(map[string]any)
	for _, kv := range s.ToSlice() {
		out[string(kv.Key)] = kv.Value.AsInterface()
	}
	return out
}

// brokenMeter panics whatever is asked of it.
type brokenMeter struct{ metric.Meter }
