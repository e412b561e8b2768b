package operations

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

var background = context.Background()

// meter is a real SDK meter read by hand.
type meter struct {
	reader   *metric.ManualReader
	provider *metric.MeterProvider
}

func newMeter(t testing.TB) *meter {
	t.Helper()
	r := metric.NewManualReader()
	m := &meter{r, metric.NewMeterProvider(metric.WithReader(r))}
	t.Cleanup(func() { _ = m.provider.Shutdown(background) })
	return m
}

func (m *meter) metrics(t testing.TB) *Metrics {
	t.Helper()
	out, err := NewMetrics(m.provider.Meter("test"), nil)
	require.NoError(t, err)
	return out
}

func (m *meter) waits(t testing.TB) *Waits {
	t.Helper()
	out, err := NewWaits(m.provider.Meter("test"))
	require.NoError(t, err)
	return out
}

// collect returns each point as "instrument{attributes}": the count of a histogram, the value of a counter. The sums of
// the histograms are beside it.
func (m *meter) collect(t testing.TB) (points map[string]int64, sums map[string]float64) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, m.reader.Collect(background, &rm))
	points, sums = map[string]int64{}, map[string]float64{}
	for _, sm := range rm.ScopeMetrics {
		for _, got := range sm.Metrics {
			key := func(s attribute.Set) string { return got.Name + "{" + s.Encoded(attribute.DefaultEncoder()) + "}" }
			switch data := got.Data.(type) {
			case metricdata.Histogram[float64]:
				require.Equal(t, "ms", got.Unit)
				for _, p := range data.DataPoints {
					points[key(p.Attributes)], sums[key(p.Attributes)] = int64(p.Count), p.Sum
					bounds := QueueBounds()
					if got.Name == DurationName {
						bounds = DurationBounds()
					}
					require.Equal(t, bounds, p.Bounds)
				}
			case metricdata.Sum[int64]:
				require.False(t, data.IsMonotonic)
				for _, p := range data.DataPoints {
					points[key(p.Attributes)] = p.Value
				}
			}
		}
	}
	return points, sums
}
