package instruments_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// sdk is an SDK meter provider and what it was given.
type sdk struct {
	*sdkmetric.MeterProvider
	tb     testing.TB
	reader *sdkmetric.ManualReader
	meter  metric.Meter
}

func newSDK(tb testing.TB) *sdk {
	tb.Helper()
	reader := sdkmetric.NewManualReader()
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	return &sdk{p, tb, reader, p.Meter("test")}
}

// collect returns every metric by name.
func (s *sdk) collect() map[string]metricdata.Metrics {
	s.tb.Helper()
	var got metricdata.ResourceMetrics
	require.NoError(s.tb, s.reader.Collect(context.Background(), &got))
	byName := make(map[string]metricdata.Metrics)
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			require.NotContains(s.tb, byName, m.Name)
			byName[m.Name] = m
		}
	}
	return byName
}

// point is one point of any kind, in a form that compares.
type point struct {
	attrs string // encoded set
	value float64
	count uint64 // histograms
	bound []float64
}

func kindOf(m metricdata.Metrics) string {
	switch d := m.Data.(type) {
	case metricdata.Gauge[float64], metricdata.Gauge[int64]:
		return "gauge"
	case metricdata.Histogram[float64], metricdata.Histogram[int64]:
		return "histogram"
	case metricdata.Sum[float64]:
		if !d.IsMonotonic {
			return "up_down_counter"
		}
		return "counter"
	case metricdata.Sum[int64]:
		return "counter"
	}
	return "?"
}

func points(m metricdata.Metrics) (ps []point) {
	add := func(set attribute.Set, p point) {
		p.attrs = set.Encoded(attribute.DefaultEncoder())
		ps = append(ps, p)
	}
	switch d := m.Data.(type) {
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, point{value: p.Value})
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, point{value: float64(p.Value)})
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, point{value: p.Value})
		}
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, point{value: float64(p.Value)})
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, point{value: p.Sum, count: p.Count, bound: p.Bounds})
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, point{value: float64(p.Sum), count: p.Count, bound: p.Bounds})
		}
	}
	slices.SortFunc(ps, func(a, b point) int { return bytes.Compare([]byte(a.attrs), []byte(b.attrs)) })
	return ps
}

// wire is what an instrument is on the wire, in the form of the vectors.
type wire struct {
	Arg         string `json:"arg"`
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Unit        string `json:"unit"`
	Description string `json:"description"`
}

func requireWire(tb testing.TB, want []wire, got map[string]metricdata.Metrics) {
	tb.Helper()
	for _, w := range want {
		m, ok := got[w.Name]
		if !ok {
			tb.Errorf("%s was not recorded", w.Name)
			continue
		}
		w.Arg = ""
		if g := (wire{"", kindOf(m), m.Name, m.Unit, m.Description}); g != w {
			tb.Errorf("got  %+v\nwant %+v", g, w)
		}
	}
}

func vectors(tb testing.TB) (v struct{ Inference, RL, Gym []wire }) {
	tb.Helper()
	text, err := os.ReadFile("testdata/instruments_v020.json")
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(text, &v))
	require.Len(tb, v.Inference, 2)
	require.Len(tb, v.RL, 11)
	require.Len(tb, v.Gym, 5)
	return v
}

// logged is a logger whose lines a test can read.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range bytes.Lines(l.buf.Bytes()) {
		lines = append(lines, string(line))
	}
	return lines
}
