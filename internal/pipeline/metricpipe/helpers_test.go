package metricpipe

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is more than any machine needs.
const patience = 30 * time.Second

// exporter keeps what it gets and does in its calls what the test wants.
type exporter struct {
	do     func(ctx context.Context, rm *metricdata.ResourceMetrics) error // nil: takes everything
	doDown func(ctx context.Context) error

	mu    sync.Mutex
	began int
	taken []metricdata.ResourceMetrics
	downs int
}

func (*exporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DeltaTemporalitySelector(k)
}

func (*exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (e *exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	e.mu.Lock()
	e.began++
	e.mu.Unlock()
	if e.do != nil {
		if err := e.do(ctx, rm); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taken = append(e.taken, *rm)
	return nil
}

func (*exporter) ForceFlush(context.Context) error { return nil }

func (e *exporter) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	e.downs++
	e.mu.Unlock()
	if e.doDown != nil {
		return e.doDown(ctx)
	}
	return nil
}

func (e *exporter) calls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.began
}

func (e *exporter) shutdowns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.downs
}

// sum adds up what arrived of a counter with delta temporality.
func (e *exporter) sum(name string) (total int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, rm := range e.taken {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				if d, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
					for _, p := range d.DataPoints {
						total += p.Value
					}
				}
			}
		}
	}
	return total
}

// counter returns a function that counts.
func counter(tb testing.TB, p *Pipeline, name string) func(n int64) {
	tb.Helper()
	c, err := p.Provider.Meter("test").Int64Counter(name)
	if err != nil {
		tb.Fatal(err)
	}
	return func(n int64) { c.Add(context.Background(), n) }
}

func gauge(tb testing.TB, p *Pipeline, name string, f metric.Int64Callback) {
	tb.Helper()
	if _, err := p.Provider.Meter("test").Int64ObservableGauge(name, metric.WithInt64Callback(f)); err != nil {
		tb.Fatal(err)
	}
}

// until waits for cond.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, patience, time.Millisecond, what)
}

// lines is where the library's own log goes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) log() *report.Log { return report.New(slog.New(slog.NewTextHandler(l, nil))) }

// partial is an exporter's exact word on its loss.
type partial int

func (partial) Error() string    { return "partly refused" }
func (e partial) LostSpans() int { return int(e) }

// numbers leaves out the times.
func numbersOf(s Stats) Stats {
	s.LastDuration, s.TotalDuration = 0, 0
	return s
}
