package otlp

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	pb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// untranslated is a metric that is left out.
type untranslated struct {
	name   string
	points int
	why    error
}

func (e *untranslated) Error() string {
	return fmt.Sprintf("lens: the metric %q is not sent: %v", e.name, e.why)
}

// LostSpans is the number of its points.
func (e *untranslated) LostSpans() int { return e.points }

// resourceMetrics translates what a reader collected and counts its points. The
// error names the metrics that could not be translated and are left out.
func (t *translator) resourceMetrics(rm *metricdata.ResourceMetrics) (out *pb.ResourceMetrics, points int, err error) {
	out = &pb.ResourceMetrics{Resource: t.resourceOf(rm.Resource), SchemaUrl: t.text(rm.Resource.SchemaURL())}
	var errs []error
	for _, sm := range rm.ScopeMetrics {
		scope := &pb.ScopeMetrics{Scope: t.scopeOf(sm.Scope), SchemaUrl: t.text(sm.Scope.SchemaURL)}
		for _, m := range sm.Metrics {
			metric, n, err := t.metricOf(m)
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

func (t *translator) metricOf(m metricdata.Metrics) (out *pb.Metric, points int, err error) {
	out = &pb.Metric{Name: t.text(m.Name), Description: t.text(m.Description), Unit: t.text(m.Unit)}
	switch d := m.Data.(type) {
	case metricdata.Gauge[int64]:
		points = gauge(t, out, d)
	case metricdata.Gauge[float64]:
		points = gauge(t, out, d)
	case metricdata.Sum[int64]:
		points, err = sum(t, out, d)
	case metricdata.Sum[float64]:
		points, err = sum(t, out, d)
	case metricdata.Histogram[int64]:
		points, err = histogram(t, out, d)
	case metricdata.Histogram[float64]:
		points, err = histogram(t, out, d)
	case metricdata.ExponentialHistogram[int64]:
		points, err = exponential(t, out, d)
	case metricdata.ExponentialHistogram[float64]:
		points, err = exponential(t, out, d)
	case metricdata.Summary:
		points = summary(t, out, d)
	default:
		err = fmt.Errorf("its kind %T is unknown", d)
	}
	if err != nil {
		return nil, 0, &untranslated{m.Name, points, err}
	}
	return out, points, nil
}

// cutMetrics returns the part of rm that holds the points from from up to to.
func cutMetrics(rm *pb.ResourceMetrics, from, to int) *pb.ResourceMetrics {
	out := &pb.ResourceMetrics{Resource: rm.Resource, SchemaUrl: rm.SchemaUrl}
	for _, sm := range rm.ScopeMetrics {
		scope := &pb.ScopeMetrics{Scope: sm.Scope, SchemaUrl: sm.SchemaUrl}
		for _, m := range sm.Metrics {
			cut, points := cutMetric(m, from, to)
			if cut != nil {
				scope.Metrics = append(scope.Metrics, cut)
			}
			from, to = from-points, to-points
		}
		if len(scope.Metrics) > 0 {
			out.ScopeMetrics = append(out.ScopeMetrics, scope)
		}
	}
	return out
}

// cutMetric returns the points from from up to to, m itself when these are all of its
// points and nil when there are none, and how many points m has.
func cutMetric(m *pb.Metric, from, to int) (cut *pb.Metric, points int) {
	whole := func(points int) bool { return from <= 0 && to >= points }
	none := func(points int) bool { return from >= points || to <= 0 }
	cut = &pb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch d := m.Data.(type) {
	case *pb.Metric_Gauge:
		points = len(d.Gauge.DataPoints)
		cut.Data = &pb.Metric_Gauge{Gauge: &pb.Gauge{DataPoints: within(d.Gauge.DataPoints, from, to)}}
	case *pb.Metric_Sum:
		points = len(d.Sum.DataPoints)
		cut.Data = &pb.Metric_Sum{Sum: &pb.Sum{DataPoints: within(d.Sum.DataPoints, from, to),
			AggregationTemporality: d.Sum.AggregationTemporality, IsMonotonic: d.Sum.IsMonotonic}}
	case *pb.Metric_Histogram:
		points = len(d.Histogram.DataPoints)
		cut.Data = &pb.Metric_Histogram{Histogram: &pb.Histogram{DataPoints: within(d.Histogram.DataPoints, from, to),
			AggregationTemporality: d.Histogram.AggregationTemporality}}
	case *pb.Metric_ExponentialHistogram:
		points = len(d.ExponentialHistogram.DataPoints)
		cut.Data = &pb.Metric_ExponentialHistogram{ExponentialHistogram: &pb.ExponentialHistogram{
			DataPoints:             within(d.ExponentialHistogram.DataPoints, from, to),
			AggregationTemporality: d.ExponentialHistogram.AggregationTemporality}}
	case *pb.Metric_Summary:
		points = len(d.Summary.DataPoints)
		cut.Data = &pb.Metric_Summary{Summary: &pb.Summary{DataPoints: within(d.Summary.DataPoints, from, to)}}
	}
	switch {
	case whole(points):
		return m, points // also one without points
	case none(points):
		return nil, points
	}
	return cut, points
}

// within is the part of list that lies from from up to to.
func within[P any](list []P, from, to int) []P {
	from, to = min(max(from, 0), len(list)), min(max(to, 0), len(list))
	return list[from:max(from, to)]
}

type number interface{ int64 | float64 }

func gauge[N number](t *translator, out *pb.Metric, g metricdata.Gauge[N]) int {
	out.Data = &pb.Metric_Gauge{Gauge: &pb.Gauge{DataPoints: convert(g.DataPoints, pointWith[N](t))}}
	return len(g.DataPoints)
}

func sum[N number](t *translator, out *pb.Metric, s metricdata.Sum[N]) (int, error) {
	temporality, err := temporalityOf(s.Temporality)
	out.Data = &pb.Metric_Sum{Sum: &pb.Sum{
		AggregationTemporality: temporality, IsMonotonic: s.IsMonotonic, DataPoints: convert(s.DataPoints, pointWith[N](t))}}
	return len(s.DataPoints), err
}

func histogram[N number](t *translator, out *pb.Metric, h metricdata.Histogram[N]) (int, error) {
	temporality, err := temporalityOf(h.Temporality)
	out.Data = &pb.Metric_Histogram{Histogram: &pb.Histogram{
		AggregationTemporality: temporality,
		DataPoints: convert(h.DataPoints, func(p metricdata.HistogramDataPoint[N]) *pb.HistogramDataPoint {
			return &pb.HistogramDataPoint{
				Attributes: t.setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
				Count: p.Count, Sum: new(float64(p.Sum)), BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds,
				Min: extreme(p.Min), Max: extreme(p.Max), Exemplars: convert(p.Exemplars, exemplarWith[N](t)),
			}
		})}}
	return len(h.DataPoints), err
}

func exponential[N number](t *translator, out *pb.Metric, h metricdata.ExponentialHistogram[N]) (int, error) {
	temporality, err := temporalityOf(h.Temporality)
	out.Data = &pb.Metric_ExponentialHistogram{ExponentialHistogram: &pb.ExponentialHistogram{
		AggregationTemporality: temporality,
		DataPoints: convert(h.DataPoints, func(p metricdata.ExponentialHistogramDataPoint[N]) *pb.ExponentialHistogramDataPoint {
			return &pb.ExponentialHistogramDataPoint{
				Attributes: t.setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
				Count: p.Count, Sum: new(float64(p.Sum)), Scale: p.Scale, ZeroCount: p.ZeroCount, ZeroThreshold: p.ZeroThreshold,
				Positive: buckets(p.PositiveBucket), Negative: buckets(p.NegativeBucket),
				Min: extreme(p.Min), Max: extreme(p.Max), Exemplars: convert(p.Exemplars, exemplarWith[N](t)),
			}
		})}}
	return len(h.DataPoints), err
}

func buckets(b metricdata.ExponentialBucket) *pb.ExponentialHistogramDataPoint_Buckets {
	return &pb.ExponentialHistogramDataPoint_Buckets{Offset: b.Offset, BucketCounts: b.Counts}
}

func summary(t *translator, out *pb.Metric, s metricdata.Summary) int {
	out.Data = &pb.Metric_Summary{Summary: &pb.Summary{
		DataPoints: convert(s.DataPoints, func(p metricdata.SummaryDataPoint) *pb.SummaryDataPoint {
			return &pb.SummaryDataPoint{
				Attributes: t.setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
				Count: p.Count, Sum: p.Sum,
				QuantileValues: convert(p.QuantileValues, func(q metricdata.QuantileValue) *pb.SummaryDataPoint_ValueAtQuantile {
					return &pb.SummaryDataPoint_ValueAtQuantile{Quantile: q.Quantile, Value: q.Value}
				}),
			}
		})}}
	return len(s.DataPoints)
}

func pointWith[N number](t *translator) func(metricdata.DataPoint[N]) *pb.NumberDataPoint {
	return func(p metricdata.DataPoint[N]) *pb.NumberDataPoint {
		out := &pb.NumberDataPoint{
			Attributes: t.setValues(p.Attributes), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Exemplars: convert(p.Exemplars, exemplarWith[N](t)),
		}
		switch n := any(p.Value).(type) {
		case int64:
			out.Value = &pb.NumberDataPoint_AsInt{AsInt: n}
		case float64:
			out.Value = &pb.NumberDataPoint_AsDouble{AsDouble: n}
		}
		return out
	}
}

func exemplarWith[N number](t *translator) func(metricdata.Exemplar[N]) *pb.Exemplar {
	return func(e metricdata.Exemplar[N]) *pb.Exemplar {
		out := &pb.Exemplar{
			FilteredAttributes: t.keyValues(e.FilteredAttributes), TimeUnixNano: nanoseconds(e.Time), SpanId: e.SpanID, TraceId: e.TraceID}
		switch n := any(e.Value).(type) {
		case int64:
			out.Value = &pb.Exemplar_AsInt{AsInt: n}
		case float64:
			out.Value = &pb.Exemplar_AsDouble{AsDouble: n}
		}
		return out
	}
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
