package metricpipe

import "go.opentelemetry.io/otel/metric"

// The constructors take callbacks in their options, and give the SDK guarded ones.

// Int64ObservableCounter implements metric.Meter.
func (m meter) Int64ObservableCounter(name string, opts ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	cfg := metric.NewInt64ObservableCounterConfig(opts...)
	safe := []metric.Int64ObservableCounterOption{metric.WithDescription(cfg.Description()), metric.WithUnit(cfg.Unit())}
	for _, f := range cfg.Callbacks() {
		safe = append(safe, metric.WithInt64Callback(m.int64(name, f)))
	}
	return m.Meter.Int64ObservableCounter(name, safe...)
}

// Int64ObservableUpDownCounter implements metric.Meter.
func (m meter) Int64ObservableUpDownCounter(name string, opts ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	cfg := metric.NewInt64ObservableUpDownCounterConfig(opts...)
	safe := []metric.Int64ObservableUpDownCounterOption{metric.WithDescription(cfg.Description()), metric.WithUnit(cfg.Unit())}
	for _, f := range cfg.Callbacks() {
		safe = append(safe, metric.WithInt64Callback(m.int64(name, f)))
	}
	return m.Meter.Int64ObservableUpDownCounter(name, safe...)
}

// Int64ObservableGauge implements metric.Meter.
func (m meter) Int64ObservableGauge(name string, opts ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	cfg := metric.NewInt64ObservableGaugeConfig(opts...)
	safe := []metric.Int64ObservableGaugeOption{metric.WithDescription(cfg.Description()), metric.WithUnit(cfg.Unit())}
	for _, f := range cfg.Callbacks() {
		safe = append(safe, metric.WithInt64Callback(m.int64(name, f)))
	}
	return m.Meter.Int64ObservableGauge(name, safe...)
}

// Float64ObservableCounter implements metric.Meter.
func (m meter) Float64ObservableCounter(name string, opts ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	cfg := metric.NewFloat64ObservableCounterConfig(opts...)
	safe := []metric.Float64ObservableCounterOption{metric.WithDescription(cfg.Description()), metric.WithUnit(cfg.Unit())}
	for _, f := range cfg.Callbacks() {
		safe = append(safe, metric.WithFloat64Callback(m.float64(name, f)))
	}
	return m.Meter.Float64ObservableCounter(name, safe...)
}

// Float64ObservableUpDownCounter implements metric.Meter.
func (m meter) Float64ObservableUpDownCounter(name string, opts ...metric.Float64ObservableUpDownCounterOption) (metric.Float64ObservableUpDownCounter, error) {
	cfg := metric.NewFloat64ObservableUpDownCounterConfig(opts...)
	safe := []metric.Float64ObservableUpDownCounterOption{metric.WithDescription(cfg.Description()), metric.WithUnit(cfg.Unit())}
	for _, f := range cfg.Callbacks() {
		safe = append(safe, metric.WithFloat64Callback(m.float64(name, f)))
	}
	return m.Meter.Float64ObservableUpDownCounter(name, safe...)
}

// Float64ObservableGauge implements metric.Meter.
func (m meter) Float64ObservableGauge(name string, opts ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	cfg := metric.NewFloat64ObservableGaugeConfig(opts...)
	safe := []metric.Float64ObservableGaugeOption{metric.WithDescription(cfg.Description()), metric.WithUnit(cfg.Unit())}
	for _, f := range cfg.Callbacks() {
		safe = append(safe, metric.WithFloat64Callback(m.float64(name, f)))
	}
	return m.Meter.Float64ObservableGauge(name, safe...)
}
