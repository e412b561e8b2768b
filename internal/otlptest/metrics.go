package otlptest

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// MetricKind is the form of a metric's data.
type MetricKind string

// The kinds.
const (
	Gauge                MetricKind = "gauge"
	Sum                  MetricKind = "sum"
	Histogram            MetricKind = "histogram"
	ExponentialHistogram MetricKind = "exponential histogram"
	Summary              MetricKind = "summary"
)

// Metric is one received metric: one instrument in one export, with all its points.
type Metric struct {
	Name, Unit, Description string
	Kind                    MetricKind
	Monotonic               bool // of a sum
	Delta                   bool // delta temporality; cumulative or without otherwise
	Points                  []Point

	Scope             Scope
	Resource          map[string]any
	ResourceSchemaURL string

	Request int               // index in [Server.Requests], or -1 after a Reset meanwhile
	Proto   *metricspb.Metric // as received, with points that were rejected too; not to be changed
}

// Point is one data point.
type Point struct {
	Attributes  map[string]any
	Start, Time time.Time
	Value       any // int64 or float64 of a gauge or sum, else nil

	Count     uint64   // of the histograms and the summary
	Sum       float64  // of the histograms and the summary
	Min, Max  *float64 // of the histograms, when sent
	Bounds    []float64
	Buckets   []uint64 // of the explicit histogram: one more than Bounds
	Exemplars []Exemplar
}

// Exemplar ties a measurement to a span.
type Exemplar struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Time       time.Time
	Value      any // int64 or float64
	Attributes map[string]any
}

// Metrics returns the accepted metrics in the order in which they came, one element for each export of
// an instrument.
func (s *Server) Metrics() []Metric {
	var out []Metric
	for _, k := range keptOf[*colmetricspb.ExportMetricsServiceRequest](s) {
		left := k.items
		for _, r := range k.msg.GetResourceMetrics() {
			res := attributes(r.GetResource().GetAttributes())
			for _, sc := range r.GetScopeMetrics() {
				scope := newScope(sc.GetScope(), sc.GetSchemaUrl())
				for _, p := range sc.GetMetrics() {
					if left == 0 {
						break
					}
					m := newMetric(p)
					m.Points = m.Points[:min(left, len(m.Points))]
					left -= len(m.Points)
					m.Scope, m.Resource, m.ResourceSchemaURL = scope, res, r.GetSchemaUrl()
					m.Request = k.request
					out = append(out, m)
				}
			}
		}
	}
	return out
}

func countPoints(p *metricspb.Metric) int {
	switch d := p.GetData().(type) {
	case *metricspb.Metric_Gauge:
		return len(d.Gauge.GetDataPoints())
	case *metricspb.Metric_Sum:
		return len(d.Sum.GetDataPoints())
	case *metricspb.Metric_Histogram:
		return len(d.Histogram.GetDataPoints())
	case *metricspb.Metric_ExponentialHistogram:
		return len(d.ExponentialHistogram.GetDataPoints())
	case *metricspb.Metric_Summary:
		return len(d.Summary.GetDataPoints())
	default:
		return 0
	}
}

func newMetric(p *metricspb.Metric) Metric {
	m := Metric{Name: p.GetName(), Unit: p.GetUnit(), Description: p.GetDescription(), Proto: p}
	temporality := metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_UNSPECIFIED
	switch d := p.GetData().(type) {
	case *metricspb.Metric_Gauge:
		m.Kind, m.Points = Gauge, points(d.Gauge.GetDataPoints(), numberPoint)
	case *metricspb.Metric_Sum:
		m.Kind, m.Points = Sum, points(d.Sum.GetDataPoints(), numberPoint)
		m.Monotonic, temporality = d.Sum.GetIsMonotonic(), d.Sum.GetAggregationTemporality()
	case *metricspb.Metric_Histogram:
		m.Kind, m.Points = Histogram, points(d.Histogram.GetDataPoints(), histogramPoint)
		temporality = d.Histogram.GetAggregationTemporality()
	case *metricspb.Metric_ExponentialHistogram:
		m.Kind, m.Points = ExponentialHistogram, points(d.ExponentialHistogram.GetDataPoints(), exponentialPoint)
		temporality = d.ExponentialHistogram.GetAggregationTemporality()
	case *metricspb.Metric_Summary:
		m.Kind, m.Points = Summary, points(d.Summary.GetDataPoints(), summaryPoint)
	}
	m.Delta = temporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	return m
}

func points[P any](list []P, convert func(P) Point) []Point {
	out := make([]Point, len(list))
	for i, p := range list {
		out[i] = convert(p)
	}
	return out
}

func numberPoint(p *metricspb.NumberDataPoint) Point {
	out := Point{
		Attributes: attributes(p.GetAttributes()),
		Start:      instant(p.GetStartTimeUnixNano()), Time: instant(p.GetTimeUnixNano()),
		Exemplars: exemplars(p.GetExemplars()),
	}
	switch v := p.GetValue().(type) {
	case *metricspb.NumberDataPoint_AsInt:
		out.Value = v.AsInt
	case *metricspb.NumberDataPoint_AsDouble:
		out.Value = v.AsDouble
	}
	return out
}

func histogramPoint(p *metricspb.HistogramDataPoint) Point {
	return Point{
		Attributes: attributes(p.GetAttributes()),
		Start:      instant(p.GetStartTimeUnixNano()), Time: instant(p.GetTimeUnixNano()),
		Count: p.GetCount(), Sum: p.GetSum(), Min: p.Min, Max: p.Max,
		Bounds: p.GetExplicitBounds(), Buckets: p.GetBucketCounts(),
		Exemplars: exemplars(p.GetExemplars()),
	}
}

func exponentialPoint(p *metricspb.ExponentialHistogramDataPoint) Point {
	return Point{
		Attributes: attributes(p.GetAttributes()),
		Start:      instant(p.GetStartTimeUnixNano()), Time: instant(p.GetTimeUnixNano()),
		Count: p.GetCount(), Sum: p.GetSum(), Min: p.Min, Max: p.Max,
		Exemplars: exemplars(p.GetExemplars()),
	}
}

func summaryPoint(p *metricspb.SummaryDataPoint) Point {
	return Point{
		Attributes: attributes(p.GetAttributes()),
		Start:      instant(p.GetStartTimeUnixNano()), Time: instant(p.GetTimeUnixNano()),
		Count: p.GetCount(), Sum: p.GetSum(),
	}
}

func exemplars(list []*metricspb.Exemplar) []Exemplar {
	var out []Exemplar
	for _, e := range list {
		x := Exemplar{
			TraceID: traceID(e.GetTraceId()), SpanID: spanID(e.GetSpanId()),
			Time: instant(e.GetTimeUnixNano()), Attributes: attributes(e.GetFilteredAttributes()),
		}
		switch v := e.GetValue().(type) {
		case *metricspb.Exemplar_AsInt:
			x.Value = v.AsInt
		case *metricspb.Exemplar_AsDouble:
			x.Value = v.AsDouble
		}
		out = append(out, x)
	}
	return out
}
