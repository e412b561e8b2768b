package sampler

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"
)

// roleVar makes this test binary the program that a Runner runs. Its value is what that program does.
const roleVar = "SAMPLER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		goleak.VerifyTestMain(m)
	case "answer":
		fmt.Println("0, GPU-a, 50, 100, 1000")
	case "fail":
		fmt.Fprintln(os.Stderr, "no driver")
		os.Exit(9)
	case "warn":
		fmt.Println("0, GPU-a, 50, 100, 1000\n1, [N/A], [N/A], 7, 8\nWARNING: infoROM is corrupted at gpu 0000:0A:00.0")
		os.Exit(14)
	case "hang":
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		<-interrupted // or killed
	case "flood":
		for {
			if _, err := fmt.Println("0, GPU-a, 50, 100, 1000"); err != nil {
				os.Exit(1)
			}
		}
	}
}

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

// gauges returns the points of every gauge as "instrument{attributes}".
func (m *meter) gauges(t testing.TB) map[string]metricdata.DataPoint[float64] {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, m.reader.Collect(background, &rm))
	out := map[string]metricdata.DataPoint[float64]{}
	for _, sm := range rm.ScopeMetrics {
		for _, got := range sm.Metrics {
			for _, p := range got.Data.(metricdata.Gauge[float64]).DataPoints {
				out[got.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = p
			}
		}
	}
	return out
}

// clock is moved by hand.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Unix(1_700_000_000, 0)} }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }
