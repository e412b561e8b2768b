package observer

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// BenchmarkObserve measures what an observer costs. Method: the work of one wake-up (everything but the sleep), and of one
// collection by an SDK reader, each timed on the wall clock in a closed loop. %core is that time over the interval of
// each: 1 s between wake-ups, 10 s between collections.
func BenchmarkObserve(b *testing.B) {
	m := newMeter(b)
	o, err := newObserver(m.provider.Meter("bench"), Config{TaskCount: true})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	share := func(b *testing.B, interval time.Duration) {
		b.ReportMetric(100*float64(b.Elapsed())/float64(b.N)/float64(interval), "%core")
	}
	b.Run("wake-up", func(b *testing.B) {
		for b.Loop() {
			o.lag.Record(ctx, 1)
			for _, r := range o.runtime {
				r.advance(ctx)
			}
		}
		share(b, DefaultInterval)
	})
	b.Run("collection", func(b *testing.B) {
		var rm metricdata.ResourceMetrics
		for b.Loop() {
			if err := m.reader.Collect(ctx, &rm); err != nil {
				b.Fatal(err)
			}
		}
		share(b, 10*time.Second)
	})
	b.Run("request", func(b *testing.B) {
		f, err := NewInFlight(m.provider.Meter("bench"))
		if err != nil {
			b.Fatal(err)
		}
		h := f.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(nil, nil)
		}
	})
}
