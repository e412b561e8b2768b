package globals

import (
	"context"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
)

// instrument finds the instrument of the provider in use.
type instrument[I any] struct {
	meter *meter
	make  func(metric.Meter) (I, error)
	last  atomic.Pointer[bound[I]]
}

type bound[I any] struct {
	to *target
	I  I
}

// init makes the instrument at once when a provider is in use, so that the caller learns
// of a bad name.
func (i *instrument[I]) init(m *meter, make func(metric.Meter) (I, error)) error {
	i.meter, i.make = m, make
	if to := m.from.current.Load(); to != nil {
		_, err := i.bind(to)
		return err
	}
	return nil
}

func (i *instrument[I]) bind(to *target) (*bound[I], error) {
	made, err := i.make(i.meter.of(to))
	if any(made) == nil {
		return nil, err
	}
	b := &bound[I]{to, made}
	i.last.Store(b)
	return b, err
}

// now returns the instrument of the provider in use, or nil.
func (i *instrument[I]) now() *bound[I] {
	to, last := i.meter.from.current.Load(), i.last.Load()
	switch {
	case to == nil:
		if last != nil {
			i.last.CompareAndSwap(last, nil) // so that a set-up that has ended is freed
		}
		return nil
	case last != nil && last.to == to:
		return last
	}
	last, err := i.bind(to)
	if err != nil {
		otel.Handle(err)
	}
	return last
}

type (
	adder[N any] interface {
		Add(context.Context, N, ...metric.AddOption)
		Enabled(context.Context) bool
	}
	recorder[N any] interface {
		Record(context.Context, N, ...metric.RecordOption)
		Enabled(context.Context) bool
	}
	adding[N any, I adder[N]]       struct{ instrument[I] }
	recording[N any, I recorder[N]] struct{ instrument[I] }
)

func (a *adding[N, I]) Add(ctx context.Context, n N, opts ...metric.AddOption) {
	if b := a.now(); b != nil {
		b.I.Add(ctx, n, opts...)
	}
}

func (a *adding[N, I]) Enabled(ctx context.Context) bool {
	b := a.now()
	return b != nil && b.I.Enabled(ctx)
}

func (r *recording[N, I]) Record(ctx context.Context, n N, opts ...metric.RecordOption) {
	if b := r.now(); b != nil {
		b.I.Record(ctx, n, opts...)
	}
}

func (r *recording[N, I]) Enabled(ctx context.Context) bool {
	b := r.now()
	return b != nil && b.I.Enabled(ctx)
}

type (
	int64Counter struct {
		embedded.Int64Counter
		adding[int64, metric.Int64Counter]
	}
	int64UpDownCounter struct {
		embedded.Int64UpDownCounter
		adding[int64, metric.Int64UpDownCounter]
	}
	int64Histogram struct {
		embedded.Int64Histogram
		recording[int64, metric.Int64Histogram]
	}
	int64Gauge struct {
		embedded.Int64Gauge
		recording[int64, metric.Int64Gauge]
	}
	float64Counter struct {
		embedded.Float64Counter
		adding[float64, metric.Float64Counter]
	}
	float64UpDownCounter struct {
		embedded.Float64UpDownCounter
		adding[float64, metric.Float64UpDownCounter]
	}
	float64Histogram struct {
		embedded.Float64Histogram
		recording[float64, metric.Float64Histogram]
	}
	float64Gauge struct {
		embedded.Float64Gauge
		recording[float64, metric.Float64Gauge]
	}
)

func (m *meter) Int64Counter(name string, opts ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	i, opts := new(int64Counter), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Int64Counter, error) { return to.Int64Counter(name, opts...) })
}

func (m *meter) Int64UpDownCounter(name string, opts ...metric.Int64UpDownCounterOption) (metric.Int64UpDownCounter, error) {
	i, opts := new(int64UpDownCounter), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Int64UpDownCounter, error) { return to.Int64UpDownCounter(name, opts...) })
}

func (m *meter) Int64Histogram(name string, opts ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	i, opts := new(int64Histogram), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Int64Histogram, error) { return to.Int64Histogram(name, opts...) })
}

func (m *meter) Int64Gauge(name string, opts ...metric.Int64GaugeOption) (metric.Int64Gauge, error) {
	i, opts := new(int64Gauge), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Int64Gauge, error) { return to.Int64Gauge(name, opts...) })
}

func (m *meter) Float64Counter(name string, opts ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	i, opts := new(float64Counter), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Float64Counter, error) { return to.Float64Counter(name, opts...) })
}

func (m *meter) Float64UpDownCounter(name string, opts ...metric.Float64UpDownCounterOption) (metric.Float64UpDownCounter, error) {
	i, opts := new(float64UpDownCounter), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Float64UpDownCounter, error) {
		return to.Float64UpDownCounter(name, opts...)
	})
}

func (m *meter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	i, opts := new(float64Histogram), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Float64Histogram, error) { return to.Float64Histogram(name, opts...) })
}

func (m *meter) Float64Gauge(name string, opts ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	i, opts := new(float64Gauge), slices.Clone(opts)
	return i, i.init(m, func(to metric.Meter) (metric.Float64Gauge, error) { return to.Float64Gauge(name, opts...) })
}
