package settings

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Limits and defaults of the periodic reader.
const (
	DefaultMetricInterval = 10 * time.Second // the SDK's is 60 s
	DefaultMetricTimeout  = 10 * time.Second
	MinMetricInterval     = 100 * time.Millisecond
	MaxMetricInterval     = 24 * time.Hour
)

// MetricInterval reads OTEL_METRIC_EXPORT_INTERVAL, in milliseconds.
func MetricInterval(lookup Lookup) (time.Duration, []Warning) {
	d, _, warnings := first(lookup, "OTEL_METRIC_EXPORT_INTERVAL").duration(DefaultMetricInterval, MinMetricInterval, MaxMetricInterval)
	return d, warnings
}

// MetricTimeout reads OTEL_METRIC_EXPORT_TIMEOUT, in milliseconds.
func MetricTimeout(lookup Lookup) (time.Duration, []Warning) {
	d, _, warnings := first(lookup, "OTEL_METRIC_EXPORT_TIMEOUT").duration(DefaultMetricTimeout, MinTimeout, MaxTimeout)
	return d, warnings
}

// Temporality is what a counter's points count from: the start (cumulative) or the
// point before (delta).
type Temporality string

// The preferences of the specification.
const (
	Cumulative Temporality = "cumulative"
	Delta      Temporality = "delta"
	LowMemory  Temporality = "lowmemory"
)

// TemporalityPreference reads OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE, in any
// case; cumulative by default.
func TemporalityPreference(lookup Lookup) (Temporality, []Warning) {
	v := first(lookup, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE")
	switch t := Temporality(strings.ToLower(v.text)); t {
	case Cumulative, Delta, LowMemory:
		return t, nil
	case "":
		return Cumulative, nil
	}
	return Cumulative, []Warning{v.warn("cumulative, delta or lowmemory", string(Cumulative))}
}

// Selector returns the temporality of each kind of instrument, as the
// specification of the OTLP exporter has it. The zero value is cumulative.
func (t Temporality) Selector() metric.TemporalitySelector {
	return func(kind metric.InstrumentKind) metricdata.Temporality {
		switch kind {
		case metric.InstrumentKindCounter, metric.InstrumentKindHistogram:
			if t == Delta || t == LowMemory {
				return metricdata.DeltaTemporality
			}
		case metric.InstrumentKindObservableCounter:
			if t == Delta {
				return metricdata.DeltaTemporality
			}
		}
		return metricdata.CumulativeTemporality
	}
}

// HistogramAggregation reads OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION and
// returns what is used for each kind of instrument.
func HistogramAggregation(lookup Lookup) (metric.AggregationSelector, []Warning) {
	v := first(lookup, "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION")
	switch strings.ToLower(v.text) {
	case "base2_exponential_bucket_histogram":
		return func(kind metric.InstrumentKind) metric.Aggregation {
			if kind == metric.InstrumentKindHistogram {
				return metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
			}
			return metric.DefaultAggregationSelector(kind)
		}, nil
	case "", "explicit_bucket_histogram":
		return metric.DefaultAggregationSelector, nil
	}
	return metric.DefaultAggregationSelector, []Warning{
		v.warn("explicit_bucket_histogram or base2_exponential_bucket_histogram", "explicit_bucket_histogram")}
}
