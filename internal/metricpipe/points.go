package metricpipe

import (
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens/internal/guard"
)

// points counts the data points of a collection.
func points(rm *metricdata.ResourceMetrics) (n int) {
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Gauge[int64]:
				n += len(d.DataPoints)
			case metricdata.Gauge[float64]:
				n += len(d.DataPoints)
			case metricdata.Sum[int64]:
				n += len(d.DataPoints)
			case metricdata.Sum[float64]:
				n += len(d.DataPoints)
			case metricdata.Histogram[int64]:
				n += len(d.DataPoints)
			case metricdata.Histogram[float64]:
				n += len(d.DataPoints)
			case metricdata.ExponentialHistogram[int64]:
				n += len(d.DataPoints)
			case metricdata.ExponentialHistogram[float64]:
				n += len(d.DataPoints)
			case metricdata.Summary:
				n += len(d.DataPoints)
			}
		}
	}
	return n
}

// repair makes all text of a collection valid UTF-8, in place, and reports whether
// there was anything to do. The collection is fresh from the SDK, which keeps the
// attribute sets and nothing else of it.
func repair(rm *metricdata.ResourceMetrics) bool {
	var c cleaner
	for i := range rm.ScopeMetrics {
		sm := &rm.ScopeMetrics[i]
		c.scope(&sm.Scope)
		for j := range sm.Metrics {
			m := &sm.Metrics[j]
			c.text(&m.Name)
			c.text(&m.Description)
			c.text(&m.Unit)
			switch d := m.Data.(type) {
			case metricdata.Gauge[int64]:
				numbers(&c, d.DataPoints)
			case metricdata.Gauge[float64]:
				numbers(&c, d.DataPoints)
			case metricdata.Sum[int64]:
				numbers(&c, d.DataPoints)
			case metricdata.Sum[float64]:
				numbers(&c, d.DataPoints)
			case metricdata.Histogram[int64]:
				histograms(&c, d.DataPoints)
			case metricdata.Histogram[float64]:
				histograms(&c, d.DataPoints)
			case metricdata.ExponentialHistogram[int64]:
				exponentials(&c, d.DataPoints)
			case metricdata.ExponentialHistogram[float64]:
				exponentials(&c, d.DataPoints)
			}
		}
	}
	return c.changed
}

type cleaner struct{ changed bool }

func (c *cleaner) text(s *string) {
	if !utf8.ValidString(*s) {
		*s = guard.ValidText(*s)
		c.changed = true
	}
}

func (c *cleaner) scope(s *instrumentation.Scope) {
	c.text(&s.Name)
	c.text(&s.Version)
	c.text(&s.SchemaURL)
	c.set(&s.Attributes)
}

func (c *cleaner) set(s *attribute.Set) {
	for it := s.Iter(); it.Next(); {
		if kv := it.Attribute(); valid(kv) {
			continue
		}
		attrs := s.ToSlice()
		if fixed := guard.CleanAttributes(attrs); &fixed[0] != &attrs[0] { // a copy: something was wrong
			*s = attribute.NewSet(fixed...)
			c.changed = true
		}
		return
	}
}

// valid may be wrong about lists and maps, which have to be looked into.
func valid(kv attribute.KeyValue) bool {
	if !utf8.ValidString(string(kv.Key)) {
		return false
	}
	switch kv.Value.Type() {
	case attribute.STRING:
		return utf8.ValidString(kv.Value.AsString())
	case attribute.STRINGSLICE, attribute.SLICE, attribute.MAP:
		return false
	}
	return true
}

func (c *cleaner) attributes(attrs *[]attribute.KeyValue) {
	if in := *attrs; len(in) > 0 {
		if out := guard.CleanAttributes(in); &out[0] != &in[0] {
			*attrs = out
			c.changed = true
		}
	}
}

func numbers[N int64 | float64](c *cleaner, points []metricdata.DataPoint[N]) {
	for i := range points {
		c.set(&points[i].Attributes)
		exemplars(c, points[i].Exemplars)
	}
}

func histograms[N int64 | float64](c *cleaner, points []metricdata.HistogramDataPoint[N]) {
	for i := range points {
		c.set(&points[i].Attributes)
		exemplars(c, points[i].Exemplars)
	}
}

func exponentials[N int64 | float64](c *cleaner, points []metricdata.ExponentialHistogramDataPoint[N]) {
	for i := range points {
		c.set(&points[i].Attributes)
		exemplars(c, points[i].Exemplars)
	}
}

func exemplars[N int64 | float64](c *cleaner, list []metricdata.Exemplar[N]) {
	for i := range list {
		c.attributes(&list[i].FilteredAttributes)
	}
}
