package console

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutlog"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// collect records one value of each instrument kind through the real SDK.
func collect(t *testing.T, v float64, attrs ...attribute.KeyValue) *metricdata.ResourceMetrics {
	t.Helper()
	attrs = slices.Clone(attrs) // NewSet sorts its argument
	reader := sdkmetric.NewManualReader()
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(resource.NewSchemaless(slices.Clone(attrs)...)),
		sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: "exp"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}})))
	m := mp.Meter("m")
	opt := metric.WithAttributes(attrs...)
	g, err1 := m.Float64Gauge("loss")
	c, err2 := m.Float64Counter("sum")
	h, err3 := m.Float64Histogram("hist")
	e, err4 := m.Float64Histogram("exp")
	i, err5 := m.Int64Counter("int")
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	g.Record(t.Context(), v, opt)
	c.Add(t.Context(), v, opt)
	h.Record(t.Context(), v, opt)
	e.Record(t.Context(), v, opt)
	e.Record(t.Context(), 2, opt)
	i.Add(t.Context(), 3, opt)
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	return &rm
}

func TestMetricsSameAsStdoutmetric(t *testing.T) {
	t.Parallel()
	rm := collect(t, 0.5, attribute.String("k", "v"))
	var want, got sink
	theirs, err := stdoutmetric.New(stdoutmetric.WithWriter(&want))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := NewMetricExporter(&got)
	if err != nil {
		t.Fatal(err)
	}
	for _, exp := range []sdkmetric.Exporter{theirs, ours} {
		if err := exp.Export(t.Context(), rm); err != nil {
			t.Fatal(err)
		}
	}
	if got.buf.String() != want.buf.String() {
		t.Errorf("got\n%s\nwant\n%s", got.buf.String(), want.buf.String())
	}
	// And the way for what JSON cannot hold gives the same object.
	line, err := json.Marshal(plain(reflect.ValueOf(rm)))
	if err != nil {
		t.Fatal(err)
	}
	var rebuilt map[string]any
	if err := json.Unmarshal(line, &rebuilt); err != nil {
		t.Fatal(err)
	}
	if direct := want.lines(t)[0]; !reflect.DeepEqual(rebuilt, direct) {
		t.Errorf("rebuilt\n%v\ndirect\n%v", rebuilt, direct)
	}
}

func TestNotFiniteMetrics(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{nan: `"NaN"`, inf: `"Infinity"`, -inf: `"-Infinity"`} {
		var out sink
		exp, err := NewMetricExporter(&out, stdoutmetric.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector))
		if err != nil {
			t.Fatal(err)
		}
		if got := exp.Temporality(sdkmetric.InstrumentKindCounter); got != metricdata.DeltaTemporality {
			t.Errorf("the caller's option is lost: %v", got)
		}
		if err := exp.Export(t.Context(), collect(t, v, notFinite...)); err != nil {
			t.Fatal(err)
		}
		m := out.lines(t)[0]
		if n := strings.Count(out.buf.String(), `"Value":`+want); n < 3 {
			t.Errorf("%v: %d values: %s", v, n, out.buf.String())
		}
		checkNotFinite(t, "resource", m["Resource"])
		point := m["ScopeMetrics"].([]any)[0].(map[string]any)["Metrics"].([]any)[0].(map[string]any)["Data"].(map[string]any)["DataPoints"].([]any)[0]
		checkNotFinite(t, "data point", point.(map[string]any)["Attributes"])
	}
}

func TestMetricWriteErrorsAndShutdown(t *testing.T) {
	t.Parallel()
	out := sink{err: syscall.EPIPE}
	exp, err := NewMetricExporter(&out)
	if err != nil {
		t.Fatal(err)
	}
	rm := collect(t, 1)
	if err := exp.Export(t.Context(), rm); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("closed pipe: %v", err)
	}
	out.err = nil
	if err := exp.Export(t.Context(), rm); err != nil || len(out.lines(t)) != 1 {
		t.Errorf("later: %v", err)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := exp.Export(t.Context(), rm); err == nil {
		t.Error("export after Shutdown succeeded")
	}
}

// recordsOf lets the real SDK make records.
func recordsOf(t *testing.T, res *resource.Resource, emit ...func(*log.Record)) []sdklog.Record {
	t.Helper()
	var c capture
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(&c)), sdklog.WithResource(res))
	for _, f := range emit {
		var r log.Record
		r.SetTimestamp(time.Unix(1, 0).UTC())
		r.SetObservedTimestamp(time.Unix(2, 0).UTC())
		f(&r)
		lp.Logger("scope", log.WithInstrumentationVersion("1")).Emit(t.Context(), r)
	}
	return c.records
}

type capture struct{ records []sdklog.Record }

func (c *capture) Export(_ context.Context, r []sdklog.Record) error {
	for i := range r {
		c.records = append(c.records, r[i].Clone())
	}
	return nil
}
func (*capture) Shutdown(context.Context) error   { return nil }
func (*capture) ForceFlush(context.Context) error { return nil }

func TestLogsSameAsStdoutlog(t *testing.T) {
	t.Parallel()
	records := recordsOf(t, resource.NewSchemaless(attribute.String("r", "v")), func(r *log.Record) {
		r.SetEventName("event")
		r.SetSeverity(log.SeverityWarn)
		r.SetSeverityText("WARN")
		r.SetBody(attribute.StringValue("body"))
		r.AddAttributes(attribute.String("k", "v"), attribute.Float64("f", 0.5))
	}, func(*log.Record) {})
	var want, got, rebuilt sink
	theirs, err := stdoutlog.New(stdoutlog.WithWriter(&want))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := NewLogExporter(&got)
	if err != nil {
		t.Fatal(err)
	}
	for _, exp := range []sdklog.Exporter{theirs, ours} {
		if err := exp.Export(t.Context(), records); err != nil {
			t.Fatal(err)
		}
	}
	if got.buf.String() != want.buf.String() {
		t.Errorf("got\n%s\nwant\n%s", got.buf.String(), want.buf.String())
	}
	for i := range records {
		line, err := json.Marshal(plain(reflect.ValueOf(jsonRecord(&records[i]))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rebuilt.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	a, b := rebuilt.lines(t), want.lines(t)
	for _, m := range slices.Concat(a, b) {
		// encoding/json leaves the scope's attributes out of stdoutlog's value.
		delete(m["Scope"].(map[string]any), "Attributes")
	}
	if len(a) != 2 || !reflect.DeepEqual(a, b) {
		t.Errorf("rebuilt\n%v\ndirect\n%v", a, b)
	}
}

func TestNotFiniteLogs(t *testing.T) {
	t.Parallel()
	records := recordsOf(t, resource.NewSchemaless(slices.Clone(notFinite)...), func(r *log.Record) {
		r.SetBody(attribute.Float64Value(nan))
		r.AddAttributes(notFinite...)
		r.SetTimestamp(time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC))
	}, func(*log.Record) {})
	var out sink
	exp, err := NewLogExporter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := exp.Export(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	m := out.lines(t)[0]
	if got := m["Body"].(map[string]any)["Value"]; got != "NaN" {
		t.Errorf("body %v", got)
	}
	checkNotFinite(t, "record", m["Attributes"])
	checkNotFinite(t, "resource", m["Resource"])
}

func TestLogWriteErrorsAndShutdown(t *testing.T) {
	t.Parallel()
	records := recordsOf(t, resource.Empty(), func(*log.Record) {}, func(*log.Record) {})
	out := sink{err: syscall.EPIPE}
	exp, err := NewLogExporter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := exp.Export(t.Context(), records); !errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "2 of 2 log records lost") {
		t.Errorf("closed pipe: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := exp.Export(ctx, records); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	out.err = nil
	if err := errors.Join(exp.Export(t.Context(), records), exp.ForceFlush(t.Context())); err != nil || len(out.lines(t)) != 2 {
		t.Errorf("later: %v", err)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := exp.Export(t.Context(), records); !errors.Is(err, sdklog.ErrExporterShutdown) {
		t.Errorf("after Shutdown: %v", err)
	}
}
