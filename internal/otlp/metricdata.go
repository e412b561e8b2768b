package otlp

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	pb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// resourceMetrics translates what a reader collected and counts its points. The
// error names the metrics that could not be translated and are left out.
func resourceMetrics(rm *metricdata.ResourceMetrics) (out *pb.ResourceMetrics, points int, err error) {
	out = &pb.ResourceMetrics{Resource: resourceOf(rm.Resource), SchemaUrl: valid(rm.Resource.SchemaURL())}
	var errs []error
	for _, sm := range rm.ScopeMetrics {
		scope := &pb.ScopeMetrics{Scope: scopeOf(sm.Scope), SchemaUrl: valid(sm.Scope.SchemaURL)}
		for _, m := range sm.Metrics {
			metric, n, err := metricOf(m)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			scope.Metrics = append(scope.Metrics, metric)
			points += n
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scope)
	}
	return out, points, errors.Join(errs...)
}

func metricOf(m metricdata.Metrics) (out *pb.Metric, points int, err error) {
	out = &pb.Metric{Name: valid(m.Name), Description: valid(m.Description), Unit: valid(m.Unit)}
	switch d := m.Data.(type) {
	case metricdata.Gauge[int64]:
		points = gauge(out, d)
	case metricdata.Gauge[float64]:
		points = gauge(out, d)
	case metricdata.Sum[int64]:
		points, err = sum(out, d)
	case metricdata.Sum[float64]:
		points, err = sum(out, d)
	case metricdata.Histogram[int64]:
		points, err = histogram(out, d)
	case metricdata.Histogram[float64]:
		points, err = histogram(out, d)
	case metricdata.ExponentialHistogram[int64]:
		points, err = exponential(out, d)
	case metricdata.ExponentialHistogram[float64]:
		points, err = exponential(out, d)
	case metricdata.Summary:
		points = summary(out, d)
	default:
		err = fmt.Errorf("its kind %T is unknown", d)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("lens: the metric %q is not sent: %w", m.Name, err)
	}
	return out, points, nil
}

type number interface{ int64 | float64 }

func gauge[N number](out *pb.Metric, g metricdata.Gauge[N]) int {
	out.Data = &pb.Metric_Gauge{Gauge: &pb.Gauge{DataPoints: convert(g.DataPoints, point[N])}}
	return len(g.DataPoints)
}

func sum[N number](out *pb.Metric, s metricdata.Sum[N]) (int, error) {
	t, err := temporalityOf(s.Temporality)
	out.Data = &pb.Metric_Sum{Sum: &pb.Sum{
		AggregationTemporality: t, IsMonotonic: s.IsMonotonic, DataPoints: convert(s.DataPoints, point[N])}}
	return len(s.DataPoints), err
}

func histogram[N number](out *pb.Metric, h metricdata.Histogram[N]) (int, error) {
	t, err := temporalityOf(h.Temporality)
	out.Data = &pb.Metric_Histogram{Histogram: &pb.Histogram{
		AggregationTemporality: t,
		DataPoints: convert(h.DataPoints, func(p metricdata.HistogramDataPoint[N]) *pb.HistogramDataPoint {
			return &pb.HistogramDataPoint{
				Attributes: setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
				Count: p.Count, Sum: new(float64(p.Sum)), BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds,
				Min: extreme(p.Min), Max: extreme(p.Max), Exemplars: convert(p.Exemplars, exemplar[N]),
			}
		})}}
	return len(h.DataPoints), err
}

func exponential[N number](out *pb.Metric, h metricdata.ExponentialHistogram[N]) (int, error) {
	t, err := temporalityOf(h.Temporality)
	out.Data = &pb.Metric_ExponentialHistogram{ExponentialHistogram: &pb.ExponentialHistogram{
		AggregationTemporality: t,
		DataPoints: convert(h.DataPoints, func(p metricdata.ExponentialHistogramDataPoint[N]) *pb.ExponentialHistogramDataPoint {
			return &pb.ExponentialHistogramDataPoint{
				Attributes: setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
				Count: p.Count, Sum: new(float64(p.Sum)), Scale: p.Scale, ZeroCount: p.ZeroCount, ZeroThreshold: p.ZeroThreshold,
				Positive: buckets(p.PositiveBucket), Negative: buckets(p.NegativeBucket),
				Min: extreme(p.Min), Max: extreme(p.Max), Exemplars: convert(p.Exemplars, exemplar[N]),
			}
		})}}
	return len(h.DataPoints), err
}

func buckets(b metricdata.ExponentialBucket) *pb.ExponentialHistogramDataPoint_Buckets {
	return &pb.ExponentialHistogramDataPoint_Buckets{Offset: b.Offset, BucketCounts: b.Counts}
}

func summary(out *pb.Metric, s metricdata.Summary) int {
	out.Data = &pb.Metric_Summary{Summary: &pb.Summary{
		DataPoints: convert(s.DataPoints, func(p metricdata.SummaryDataPoint) *pb.SummaryDataPoint {
			return &pb.SummaryDataPoint{
				Attributes: setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
				Count: p.Count, Sum: p.Sum,
				QuantileValues: convert(p.QuantileValues, func(q metricdata.QuantileValue) *pb.SummaryDataPoint_ValueAtQuantile {
					return &pb.SummaryDataPoint_ValueAtQuantile{Quantile: q.Quantile, Value: q.Value}
				}),
			}
		})}}
	return len(s.DataPoints)
}

func point[N number](p metricdata.DataPoint[N]) *pb.NumberDataPoint {
	out := &pb.NumberDataPoint{
		Attributes: setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
		Exemplars: convert(p.Exemplars, exemplar[N]),
	}
	switch n := any(p.Value).(type) {
	case int64:
		out.Value = &pb.NumberDataPoint_AsInt{AsInt: n}
	case float64:
		out.Value = &pb.NumberDataPoint_AsDouble{AsDouble: n}
	}
	return out
}

func exemplar[N number](e metricdata.Exemplar[N]) *pb.Exemplar {
	out := &pb.Exemplar{
		FilteredAttributes: keyValues(e.FilteredAttributes), TimeUnixNano: nanoseconds(e.Time), SpanId: e.SpanID, TraceId: e.TraceID}
	switch n := any(e.Value).(type) {
	case int64:
		out.Value = &pb.Exemplar_AsInt{AsInt: n}
	case float64:
		out.Value = &pb.Exemplar_AsDouble{AsDouble: n}
	}
	return out
}

func extreme[N number](e metricdata.Extrema[N]) *float64 {
	if n, ok := e.Value(); ok {
		return new(float64(n))
	}
	return nil
}

func temporalityOf(t metricdata.Temporality) (pb.AggregationTemporality, error) {
	switch t {
	case metricdata.CumulativeTemporality:
		return pb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, nil
	case metricdata.DeltaTemporality:
		return pb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA, nil
	}
	return 0, fmt.Errorf("its temporality %v is unknown", t)
}
