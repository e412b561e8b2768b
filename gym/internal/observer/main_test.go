package observer

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// meter is a real SDK meter read by hand.
type meter struct {
	reader   *metric.ManualReader
	provider *metric.MeterProvider
}

func newMeter(t testing.TB) *meter {
	t.Helper()
	r := metric.NewManualReader()
	m := &meter{r, metric.NewMeterProvider(metric.WithReader(r))}
	t.Cleanup(func() { _ = m.provider.Shutdown(context.Background()) })
	return m
}

func (m *meter) collect(t testing.TB) map[string]metricdata.Metrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, m.reader.Collect(context.Background(), &rm))
	out := map[string]metricdata.Metrics{}
	for _, sm := range rm.ScopeMetrics {
		for _, got := range sm.Metrics {
			out[got.Name] = got
		}
	}
	return out
}

// numbers returns the points of a sum or a gauge by their attributes.
func numbers(t testing.TB, m metricdata.Metrics) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		points(data.DataPoints, out)
	case metricdata.Gauge[int64]:
		points(data.DataPoints, out)
	case metricdata.Sum[float64]:
		points(data.DataPoints, out)
	default:
		t.Fatalf("%s holds %T", m.Name, m.Data)
	}
	return out
}

func points[N int64 | float64](from []metricdata.DataPoint[N], into map[string]float64) {
	for _, p := range from {
		into[p.Attributes.Encoded(attribute.DefaultEncoder())] = float64(p.Value)
	}
}
