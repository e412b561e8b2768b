package instruments

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// def is what an instrument is on the wire.
type def struct {
	name, unit, description string
	bounds                  []float64 // explicit bucket boundaries, nil for the SDK's
}

// builder creates the instruments of one meter. An instrument that cannot be
// created, or that does nothing, is nil, which recorders skip.
type builder struct {
	meter  metric.Meter
	live   bool // at least one instrument records
	failed []failure
}

type failure struct {
	name string
	err  error
}

// report logs what could not be created.
func (b *builder) report(l *slog.Logger, group string) {
	for _, f := range b.failed {
		logWarning(l, "lens: cannot create a metric instrument, its values are not recorded",
			"group", group, "instrument", f.name, "error", f.err)
	}
}

func (b *builder) gauge(d def) metric.Float64Gauge {
	return create(b, d, func() (metric.Float64Gauge, error) {
		return b.meter.Float64Gauge(d.name, metric.WithUnit(d.unit), metric.WithDescription(d.description))
	})
}

func (b *builder) intGauge(d def) metric.Int64Gauge {
	return create(b, d, func() (metric.Int64Gauge, error) {
		return b.meter.Int64Gauge(d.name, metric.WithUnit(d.unit), metric.WithDescription(d.description))
	})
}

func (b *builder) histogram(d def) metric.Float64Histogram {
	opts := []metric.Float64HistogramOption{metric.WithUnit(d.unit), metric.WithDescription(d.description)}
	if d.bounds != nil {
		opts = append(opts, metric.WithExplicitBucketBoundaries(d.bounds...))
	}
	return create(b, d, func() (metric.Float64Histogram, error) {
		return b.meter.Float64Histogram(d.name, opts...)
	})
}

func (b *builder) intHistogram(d def) metric.Int64Histogram {
	opts := []metric.Int64HistogramOption{metric.WithUnit(d.unit), metric.WithDescription(d.description)}
	if d.bounds != nil {
		opts = append(opts, metric.WithExplicitBucketBoundaries(d.bounds...))
	}
	return create(b, d, func() (metric.Int64Histogram, error) {
		return b.meter.Int64Histogram(d.name, opts...)
	})
}

func (b *builder) intCounter(d def) metric.Int64Counter {
	return create(b, d, func() (metric.Int64Counter, error) {
		return b.meter.Int64Counter(d.name, metric.WithUnit(d.unit), metric.WithDescription(d.description))
	})
}

func (b *builder) counter(d def) metric.Float64Counter {
	return create(b, d, func() (metric.Float64Counter, error) {
		return b.meter.Float64Counter(d.name, metric.WithUnit(d.unit), metric.WithDescription(d.description))
	})
}

func (b *builder) upDownCounter(d def) metric.Float64UpDownCounter {
	return create(b, d, func() (metric.Float64UpDownCounter, error) {
		return b.meter.Float64UpDownCounter(d.name, metric.WithUnit(d.unit), metric.WithDescription(d.description))
	})
}

// create runs f and keeps its failures, panics among them, away from the caller.
func create[T any](b *builder, d def, f func() (T, error)) (inst T) {
	defer func() {
		if r := recover(); r != nil {
			b.failed = append(b.failed, failure{d.name, fmt.Errorf("the meter panicked: %v", r)})
		}
	}()
	got, err := f()
	switch {
	case err != nil:
		b.failed = append(b.failed, failure{d.name, err})
		return inst
	case nothing(got):
		return inst
	}
	b.live = true
	return got
}

// nothing reports whether an instrument of a wrapped meter is known to record
// nothing, so that a recorder made of such instruments is as cheap as one made
// from a nil meter.
func nothing(inst any) bool {
	switch inst.(type) {
	case nil, noop.Float64Gauge, noop.Int64Gauge, noop.Float64Histogram, noop.Int64Histogram,
		noop.Int64Counter, noop.Float64Counter, noop.Float64UpDownCounter:
		return true
	}
	return false
}

func setGauge(ctx context.Context, g metric.Float64Gauge, v OptFloat, p *points) {
	if n, ok := v.Get(); ok && g != nil {
		g.Record(ctx, n, p.record...)
	}
}

func recordMillis(ctx context.Context, h metric.Float64Histogram, v OptDuration, p *points) {
	if d, ok := v.Get(); ok && h != nil {
		h.Record(ctx, float64(d)/float64(time.Millisecond), p.record...)
	}
}
