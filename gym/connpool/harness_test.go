package connpool

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// meterOf is a real SDK meter that is read by hand.
type meterOf struct {
	reader   *metric.ManualReader
	provider *metric.MeterProvider
	totals   *Totals
}

func newMeter(t testing.TB) *meterOf {
	t.Helper()
	r := metric.NewManualReader()
	m := &meterOf{reader: r, provider: metric.NewMeterProvider(metric.WithReader(r)), totals: new(Totals)}
	t.Cleanup(func() { _ = m.provider.Shutdown(context.Background()) })
	return m
}

func (m *meterOf) metrics(t testing.TB) *Metrics {
	t.Helper()
	out, err := NewMetrics(m.provider.Meter("test"), WithTotals(m.totals))
	require.NoError(t, err)
	return out
}

// sample is one series of the queue histogram.
type sample struct {
	constraint, outcome, destination string
	count                            uint64
}

// collect returns the queue's series, their sums in ms, and the acquisitions by destination.
func (m *meterOf) collect(t testing.TB) (queue []sample, sums []float64, connects map[string]int64) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, m.reader.Collect(context.Background(), &rm))
	connects = map[string]int64{}
	for _, sm := range rm.ScopeMetrics {
		for _, got := range sm.Metrics {
			switch got.Name {
			case QueueDurationName:
				require.Equal(t, "ms", got.Unit)
				for _, p := range got.Data.(metricdata.Histogram[float64]).DataPoints {
					require.Equal(t, QueueDurationBounds(), p.Bounds)
					require.Equal(t, 3, p.Attributes.Len())
					queue = append(queue, sample{value(p.Attributes, ConstraintKey), value(p.Attributes, OutcomeKey), value(p.Attributes, DestinationKey), p.Count})
					sums = append(sums, p.Sum)
				}
			case ConnectTotalName:
				require.Equal(t, "{connection}", got.Unit)
				data := got.Data.(metricdata.Sum[int64])
				require.True(t, data.IsMonotonic)
				for _, p := range data.DataPoints {
					require.Equal(t, 1, p.Attributes.Len())
					connects[value(p.Attributes, DestinationKey)] = p.Value
				}
			default:
				t.Errorf("unexpected instrument %s", got.Name)
			}
		}
	}
	return queue, sums, connects
}

func value(s attribute.Set, k attribute.Key) string {
	v, _ := s.Value(k)
	return v.AsString()
}

// gate is a server on a real socket whose answers wait until the test lets them go.
type gate struct {
	*httptest.Server
	arrived chan string   // a path for each request that is being served
	open    chan struct{} // one value lets one answer go; closed, all
}

func newGate(t testing.TB) *gate {
	t.Helper()
	g := &gate{arrived: make(chan string, 64), open: make(chan struct{}, 64)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.arrived <- r.URL.Path
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "answer")
	}))
	t.Cleanup(g.Close)
	return g
}

// newPool builds a pool over a transport of its own, and closes its connections before the servers of the test.
func newPool(t testing.TB, l Limits, m *Metrics) (*Transport, *http.Client) {
	t.Helper()
	p, err := New(nil, l, m)
	require.NoError(t, err)
	t.Cleanup(p.CloseIdleConnections)
	return p, &http.Client{Transport: p}
}

func fetch(ctx context.Context, c *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// start fetches in a goroutine.
func start(ctx context.Context, c *http.Client, url string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- fetch(ctx, c, url) }()
	return done
}

// waiting blocks until n requests queue in p.
func waiting(t testing.TB, p *Transport, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return p.limiter.waiting() == n }, 30*time.Second, 100*time.Microsecond)
}

func (l *limiter) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.queue.Len()
	for _, h := range l.hosts {
		n += h.queue.Len()
	}
	return n
}

func (l *limiter) taken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.used
	for _, h := range l.hosts {
		n += h.used
	}
	return n
}
