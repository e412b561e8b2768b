package globals

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// setUp is a provider whose numbers can be read.
type setUp struct {
	*sdkmetric.MeterProvider
	reader *sdkmetric.ManualReader
}

func newSetUp() setUp {
	r := sdkmetric.NewManualReader()
	return setUp{sdkmetric.NewMeterProvider(sdkmetric.WithReader(r)), r}
}

// values has the sum of the points of each metric.
func (s setUp) values(t *testing.T) map[string]float64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, s.reader.Collect(context.Background(), &data))
	values := map[string]float64{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					values[m.Name] += float64(p.Value)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					values[m.Name] += p.Value
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					values[m.Name] += float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					values[m.Name] += p.Value
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					values[m.Name] += float64(p.Count)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					values[m.Name] += float64(p.Count)
				}
			}
		}
	}
	return values
}

// all makes one instrument of each kind and returns what records 1 with each of the
// synchronous ones; the observable ones report 2 through the function of their own and 3
// through a shared one.
func all(t *testing.T, m metric.Meter) (record func(), stop func() error) {
	t.Helper()
	ic, err := m.Int64Counter("int64_counter")
	require.NoError(t, err)
	iu, err := m.Int64UpDownCounter("int64_updown")
	require.NoError(t, err)
	ih, err := m.Int64Histogram("int64_histogram")
	require.NoError(t, err)
	ig, err := m.Int64Gauge("int64_gauge")
	require.NoError(t, err)
	fc, err := m.Float64Counter("float64_counter")
	require.NoError(t, err)
	fu, err := m.Float64UpDownCounter("float64_updown")
	require.NoError(t, err)
	fh, err := m.Float64Histogram("float64_histogram")
	require.NoError(t, err)
	fg, err := m.Float64Gauge("float64_gauge")
	require.NoError(t, err)

	own := metric.WithAttributes(attribute.String("from", "own"))
	ints := metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error { o.Observe(2, own); return nil })
	floats := metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error { o.Observe(2, own); return nil })
	oic, err := m.Int64ObservableCounter("int64_observable_counter", ints)
	require.NoError(t, err)
	oiu, err := m.Int64ObservableUpDownCounter("int64_observable_updown", ints)
	require.NoError(t, err)
	oig, err := m.Int64ObservableGauge("int64_observable_gauge", ints)
	require.NoError(t, err)
	ofc, err := m.Float64ObservableCounter("float64_observable_counter", floats)
	require.NoError(t, err)
	ofu, err := m.Float64ObservableUpDownCounter("float64_observable_updown", floats)
	require.NoError(t, err)
	ofg, err := m.Float64ObservableGauge("float64_observable_gauge", floats)
	require.NoError(t, err)
	bare, err := m.Int64ObservableGauge("bare")
	require.NoError(t, err)
	r, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, i := range []metric.Int64Observable{oic, oiu, oig, bare} {
			o.ObserveInt64(i, 3)
		}
		for _, i := range []metric.Float64Observable{ofc, ofu, ofg} {
			o.ObserveFloat64(i, 3)
		}
		return nil
	}, oic, oiu, oig, ofc, ofu, ofg, bare)
	require.NoError(t, err)

	ctx := context.Background()
	return func() {
		ic.Add(ctx, 1)
		iu.Add(ctx, 1)
		ih.Record(ctx, 1)
		ig.Record(ctx, 1)
		fc.Add(ctx, 1)
		fu.Add(ctx, 1)
		fh.Record(ctx, 1)
		fg.Record(ctx, 1)
	}, r.Unregister
}

var everyKind = map[string]float64{
	"int64_counter": 1, "int64_updown": 1, "int64_histogram": 1, "int64_gauge": 1,
	"float64_counter": 1, "float64_updown": 1, "float64_histogram": 1, "float64_gauge": 1,
	"int64_observable_counter": 5, "int64_observable_updown": 5, "int64_observable_gauge": 5,
	"float64_observable_counter": 5, "float64_observable_updown": 5, "float64_observable_gauge": 5, "bare": 3,
}

func TestEveryInstrumentFollowsTheSetUp(t *testing.T) {
	var m Meters
	record, stop := all(t, m.Meter("kept"))
	for range 3 {
		record() // nobody listens
		s := newSetUp()
		m.Use(s)
		record()
		require.Equal(t, everyKind, s.values(t))
		m.Use(nil)
		record()
		require.Equal(t, everyKind, s.values(t), "the last collection still asks the callbacks")
		require.NoError(t, s.Shutdown(context.Background()))
	}
	s := newSetUp()
	m.Use(s)
	require.NoError(t, stop())
	require.NoError(t, stop())
	require.Equal(t, 2.0, s.values(t)["int64_observable_counter"])
	m.Use(newSetUp())
	require.Empty(t, s.values(t)["int64_observable_counter"], "another set-up is active")
}

// A counter that two registrations of the same function observe would be doubled.
func TestSetUpCodeThatRunsAgainIsNotCountedTwice(t *testing.T) {
	var m Meters
	all(t, m.Meter("again"))
	for range 3 {
		s := newSetUp()
		m.Use(s)
		record, _ := all(t, m.Meter("again"))
		record()
		require.Equal(t, everyKind, s.values(t))
		m.Use(nil)
	}
	require.Len(t, m.callbacks, 7)
}

func TestBadNamesAreReportedToTheCaller(t *testing.T) {
	var m Meters
	s := newSetUp()
	m.Use(s)
	_, err := m.Meter("m").Int64Counter("1 bad name")
	require.Error(t, err)
	_, err = m.Meter("m").Int64ObservableCounter("1 bad name", metric.WithInt64Callback(func(context.Context, metric.Int64Observer) error { return nil }))
	require.Error(t, err)
	foreign, err := s.Meter("other").Int64ObservableCounter("foreign")
	require.NoError(t, err)
	_, err = m.Meter("m").RegisterCallback(func(context.Context, metric.Observer) error { return nil }, foreign)
	require.Error(t, err)
}

func TestRecordingAllocatesNothing(t *testing.T) {
	var m Meters
	c, err := m.Meter("m").Int64Counter("c")
	require.NoError(t, err)
	ctx, add := context.Background(), func() { c.Add(context.Background(), 1) }
	require.False(t, c.Enabled(ctx))
	require.Zero(t, testing.AllocsPerRun(100, add))
	m.Use(newSetUp())
	require.True(t, c.Enabled(ctx))
	require.Zero(t, testing.AllocsPerRun(100, add))

	var l Loggers
	logger := l.Logger("l")
	require.Zero(t, testing.AllocsPerRun(100, func() { logger.Emit(ctx, log.Record{}) }))
}

func TestSetUpsAndInstrumentsAtOnce(t *testing.T) {
	var m Meters
	var l Loggers
	var wg sync.WaitGroup
	ended := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				meter := m.Meter("m")
				c, _ := meter.Int64Counter("c")
				c.Add(context.Background(), 1)
				g, _ := meter.Int64ObservableGauge("g")
				r, _ := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error { o.ObserveInt64(g, 1); return nil }, g)
				l.Logger("l").Emit(context.Background(), log.Record{})
				_ = r.Unregister()
			}
		})
	}
	for range 50 {
		s := newSetUp()
		m.Use(s)
		l.Use(sdklog.NewLoggerProvider())
		s.values(t)
		m.Use(nil)
		l.Use(nil)
		require.NoError(t, s.Shutdown(context.Background()))
	}
	close(ended)
	wg.Wait()
	require.Empty(t, m.callbacks)
}

func BenchmarkCounter(b *testing.B) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		to   metric.MeterProvider
	}{{"off", nil}, {"on", newSetUp()}} {
		b.Run(c.name, func(b *testing.B) {
			var m Meters
			m.Use(c.to)
			counter, _ := m.Meter("m").Int64Counter("c")
			for b.Loop() {
				counter.Add(ctx, 1)
			}
		})
	}
	b.Run("sdk", func(b *testing.B) {
		counter, _ := newSetUp().Meter("m").Int64Counter("c")
		for b.Loop() {
			counter.Add(ctx, 1)
		}
	})
}
