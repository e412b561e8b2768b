package otlp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	api "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// recorder keeps the bodies of requests.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, b)
	}))
	t.Cleanup(r.Close)
	return r
}

// wantSame checks that two requests hold the same, and returns the second.
func (r *recorder) wantSame(t *testing.T, a, b proto.Message) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bodies) != 2 {
		t.Fatalf("%d requests", len(r.bodies))
	}
	for i, m := range []proto.Message{a, b} {
		if err := proto.Unmarshal(r.bodies[i], m); err != nil {
			t.Fatal(err)
		}
	}
	if !proto.Equal(a, b) {
		t.Errorf("upstream:\n%s\nlens:\n%s", prototext.Format(a), prototext.Format(b))
	}
	if proto.Size(a) < 500 {
		t.Errorf("only %d bytes compared", proto.Size(a))
	}
}

// everyType returns an attribute of each type. The list is new, as sets sort what
// they are made of.
func everyType() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Bool("bool", true), attribute.Int64("int", -5), attribute.Float64("float", math.Inf(1)), attribute.String("string", "é"),
		attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{1, math.MinInt64}),
		attribute.Float64Slice("floats", []float64{1.5}), attribute.StringSlice("strings", []string{"a", ""}),
		attribute.ByteSlice("bytes", []byte{0, 255}),
		attribute.Slice("slice", attribute.IntValue(1), attribute.StringValue("x"), attribute.Value{}),
		attribute.Map("map", attribute.String("k", "v"), attribute.Map("inner", attribute.Int("n", 1))),
		{Key: "empty"},
	}
}

// Metrics are what OpenTelemetry's own exporter makes of them.
func TestMetricsAreAsUpstream(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 12345)
	set := attribute.NewSet(everyType()...)
	rm := &metricdata.ResourceMetrics{
		Resource: resource.NewWithAttributes("https://schema/1", everyType()...),
		ScopeMetrics: []metricdata.ScopeMetrics{{
			Scope: instrumentation.Scope{Name: "s", Version: "v1", SchemaURL: "https://schema/2", Attributes: set},
			Metrics: []metricdata.Metrics{
				{Name: "gi", Description: "d", Unit: "u", Data: metricdata.Gauge[int64]{DataPoints: points[int64](set, now, 7)}},
				{Name: "gf", Data: metricdata.Gauge[float64]{DataPoints: points(set, now, math.NaN(), 2.5)}},
				{Name: "si", Data: metricdata.Sum[int64]{DataPoints: points[int64](set, now, 7), Temporality: metricdata.DeltaTemporality, IsMonotonic: true}},
				{Name: "sf", Data: metricdata.Sum[float64]{DataPoints: points(set, now, -1.5), Temporality: metricdata.CumulativeTemporality}},
				{Name: "hi", Data: histogramOf[int64](set, now, 3)},
				{Name: "hf", Data: histogramOf(set, now, 3.5)},
				{Name: "ei", Data: exponentialOf[int64](set, now, 3)},
				{Name: "ef", Data: exponentialOf(set, now, 3.5)},
				{Name: "q", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{
					Attributes: set, StartTime: now, Time: now.Add(1), Count: 2, Sum: 5,
					QuantileValues: []metricdata.QuantileValue{{Quantile: 0.5, Value: 1}, {Quantile: 1, Value: 4}}}}}},
			},
		}, {Scope: instrumentation.Scope{Name: "empty"}}},
	}
	r := newRecorder(t)
	upstream, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(r.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = upstream.Shutdown(context.Background()); http.DefaultClient.CloseIdleConnections() }()
	ours, err := NewMetricExporter(t.Context(), plaintext(t, settings.HTTPProtobuf, r.URL), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Shutdown(context.Background()) }()
	if err := upstream.Export(t.Context(), rm); err != nil {
		t.Fatal(err)
	}
	if err := ours.Export(t.Context(), rm); err != nil {
		t.Fatal(err)
	}
	r.wantSame(t, &metricspb.ExportMetricsServiceRequest{}, &metricspb.ExportMetricsServiceRequest{})
}

func points[N int64 | float64](set attribute.Set, now time.Time, values ...N) []metricdata.DataPoint[N] {
	var out []metricdata.DataPoint[N]
	for _, v := range values {
		out = append(out, metricdata.DataPoint[N]{Attributes: set, StartTime: now, Time: now.Add(time.Second), Value: v, Exemplars: exemplarsOf(now, v)})
	}
	return append(out, metricdata.DataPoint[N]{})
}

func exemplarsOf[N int64 | float64](now time.Time, v N) []metricdata.Exemplar[N] {
	return []metricdata.Exemplar[N]{{
		FilteredAttributes: everyType(), Time: now, Value: v, SpanID: []byte{1, 2, 3, 4, 5, 6, 7, 8}, TraceID: make([]byte, 16)}}
}

func histogramOf[N int64 | float64](set attribute.Set, now time.Time, v N) metricdata.Histogram[N] {
	return metricdata.Histogram[N]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[N]{
		{Attributes: set, StartTime: now, Time: now.Add(1), Count: 3, Sum: v, Bounds: []float64{1, 2}, BucketCounts: []uint64{1, 0, 2},
			Min: metricdata.NewExtrema(v), Max: metricdata.NewExtrema(v), Exemplars: exemplarsOf(now, v)},
		{Count: 1}}}
}

func exponentialOf[N int64 | float64](set attribute.Set, now time.Time, v N) metricdata.ExponentialHistogram[N] {
	return metricdata.ExponentialHistogram[N]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[N]{
		{Attributes: set, StartTime: now, Time: now.Add(1), Count: 3, Sum: v, Scale: -2, ZeroCount: 1, ZeroThreshold: 0.25,
			PositiveBucket: metricdata.ExponentialBucket{Offset: -3, Counts: []uint64{1, 2}}, NegativeBucket: metricdata.ExponentialBucket{Offset: 4, Counts: []uint64{5}},
			Min: metricdata.NewExtrema(v), Max: metricdata.NewExtrema(v), Exemplars: exemplarsOf(now, v)},
		{Count: 1}}}
}

// newLogs returns a provider whose records are kept.
func newLogs(res *resource.Resource) (*log.LoggerProvider, *[]log.Record) {
	k := &keeper{}
	return log.NewLoggerProvider(log.WithResource(res), log.WithProcessor(k), log.WithAttributeCountLimit(len(everyType()))), &k.records
}

type keeper struct{ records []log.Record }

func (k *keeper) OnEmit(_ context.Context, r *log.Record) error {
	k.records = append(k.records, r.Clone())
	return nil
}
func (*keeper) Enabled(context.Context, log.EnabledParameters) bool { return true }
func (*keeper) ForceFlush(context.Context) error                    { return nil }
func (*keeper) Shutdown(context.Context) error                      { return nil }

// Log records are what OpenTelemetry's own exporter makes of them.
func TestLogsAreAsUpstream(t *testing.T) {
	t.Parallel()
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1}))
	p, kept := newLogs(resource.NewWithAttributes("https://schema/1", everyType()...))
	a := p.Logger("a", api.WithInstrumentationVersion("v"), api.WithSchemaURL("u"), api.WithInstrumentationAttributes(everyType()...))
	for i, logger := range []api.Logger{a, p.Logger("b"), a} {
		for sev := api.Severity(-1); sev <= 25; sev += 1 + api.Severity(i) {
			var r api.Record
			r.SetEventName("e")
			r.SetTimestamp(time.Unix(int64(i), 5))
			r.SetObservedTimestamp(time.Unix(9, 9))
			r.SetSeverity(sev)
			r.SetSeverityText("S")
			r.SetBody(attribute.MapValue(everyType()...))
			r.AddAttributes(everyType()...)
			r.AddAttributes(attribute.Int("one more", 1)) // is dropped
			logger.Emit(ctx, r)
		}
	}
	p.Logger("b").Emit(t.Context(), api.Record{})
	records := *kept
	r := newRecorder(t)
	upstream, err := otlploghttp.New(t.Context(), otlploghttp.WithEndpointURL(r.URL+"/v1/logs"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = upstream.Shutdown(context.Background()) }()
	ours, err := NewLogExporter(t.Context(), plaintext(t, settings.HTTPProtobuf, r.URL), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Shutdown(context.Background()) }()
	if err := upstream.Export(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	if err := ours.Export(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	r.wantSame(t, &logspb.ExportLogsServiceRequest{}, &logspb.ExportLogsServiceRequest{})
}

// B2 for metrics and log records: a bad byte, wherever it is, costs nothing and is said
// once. Bytes stay as they are.
func TestBadTextIsRepaired(t *testing.T) {
	t.Parallel()
	const bad, good = "a\xffb", "a\uFFFDb"
	dirty := func() []attribute.KeyValue { // seven texts
		return []attribute.KeyValue{attribute.String(bad, bad), attribute.StringSlice("list", []string{"x", bad}), attribute.String("fine", "é"),
			attribute.Slice("any", attribute.StringValue(bad), attribute.MapValue(attribute.String(bad, bad))),
			attribute.ByteSlice("bytes", []byte(bad)), attribute.Map("map", attribute.String("k", bad))}
	}
	set, now := attribute.NewSet(dirty()...), time.Now()
	exemplars := []metricdata.Exemplar[float64]{{FilteredAttributes: dirty()}}
	rm := &metricdata.ResourceMetrics{
		Resource: resource.NewWithAttributes(bad, dirty()...),
		ScopeMetrics: []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: bad, Version: bad, SchemaURL: bad, Attributes: set}, Metrics: []metricdata.Metrics{
			{Name: bad, Description: bad, Unit: bad, Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: set, Time: now}}}},
			{Data: metricdata.Sum[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.DataPoint[float64]{{Attributes: set, Exemplars: exemplars}}}},
			{Data: metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{{Attributes: set, Exemplars: exemplars}}}},
			{Data: metricdata.ExponentialHistogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.ExponentialHistogramDataPoint[float64]{{Attributes: set, Exemplars: exemplars}}}},
			{Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{Attributes: set}}}}}}},
	}
	p, kept := newLogs(resource.NewWithAttributes(bad, dirty()...))
	var r api.Record
	r.SetEventName(bad)
	r.SetSeverityText(bad)
	r.SetBody(attribute.MapValue(dirty()...))
	r.AddAttributes(dirty()...)
	p.Logger(bad, api.WithInstrumentationVersion(bad), api.WithSchemaURL(bad), api.WithInstrumentationAttributes(dirty()...)).Emit(t.Context(), r)

	var said strings.Builder
	told := report.New(slog.New(slog.NewTextHandler(&said, nil)))
	receiver := newRecorder(t)
	metrics, err1 := NewMetricExporter(t.Context(), plaintext(t, settings.HTTPProtobuf, receiver.URL), nil, nil, told)
	logs, err2 := NewLogExporter(t.Context(), plaintext(t, settings.HTTPProtobuf, receiver.URL), told)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(metrics.Shutdown(context.Background()), logs.Shutdown(context.Background())) }()
	for range 2 {
		if err := errors.Join(metrics.Export(t.Context(), rm), logs.Export(t.Context(), *kept)); err != nil {
			t.Fatal(err)
		}
	}
	const texts = 7
	for i, want := range []struct {
		m proto.Message
		n int // of texts
	}{{&metricspb.ExportMetricsServiceRequest{}, 1 + 3 + 3 + (2+5+3)*texts}, {&logspb.ExportLogsServiceRequest{}, 1 + 3 + 2 + 4*texts}} {
		body := receiver.bodies[i]
		if err := proto.Unmarshal(body, want.m); err != nil {
			t.Error(err)
		}
		if n := strings.Count(string(body), good); n != want.n {
			t.Errorf("%d texts repaired, want %d in %s", n, want.n, prototext.Format(want.m))
		}
	}
	for _, text := range []string{"text in metrics", "text in log records"} {
		if n := strings.Count(said.String(), text); n != 1 {
			t.Errorf("%q was said %d times in %s", text, n, said.String())
		}
	}
}

// A metric of a kind that is not known costs itself.
func TestUnknownMetric(t *testing.T) {
	t.Parallel()
	rm := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: "bad"}, {Name: "odd", Data: metricdata.Sum[int64]{}},
		{Name: "good", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{}}}},
	}}}}
	m, n, err := new(translator).resourceMetrics(rm)
	if n != 1 || len(m.ScopeMetrics[0].Metrics) != 1 || m.ScopeMetrics[0].Metrics[0].Name != "good" {
		t.Errorf("%d points in %v", n, m)
	}
	wantError(t, err, `"bad"`, `"odd"`)
}
