package lenslog_test

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe"
	"github.com/nemo-lens/lens/internal/pipeline/metricpipe"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
	"github.com/nemo-lens/lens/lenslog"
)

// run is the three pipelines of one program.
type run struct {
	traces  *pipeline.Traces
	metrics *metricpipe.Pipeline
	logs    *logpipe.Pipeline
	where   string
}

func start(t *testing.T, protocol, addr string) run {
	t.Helper()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + addr, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
	parsed := func(s settings.Signal) settings.OTLP {
		o, _, err := settings.ParseOTLP(s, nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	spans, err1 := otlp.NewTraceExporter(t.Context(), parsed(settings.Traces), nil)
	points, err2 := otlp.NewMetricExporter(t.Context(), parsed(settings.Metrics), nil, nil, nil)
	records, err3 := otlp.NewLogExporter(t.Context(), parsed(settings.Logs), nil)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	res := resource.NewSchemaless(attribute.String("service.name", "svc"), attribute.String("run.id", "r1"))
	quiet := report.New(slog.New(slog.DiscardHandler))
	where := otlp.Describe(parsed(settings.Logs))
	return run{
		traces: pipeline.NewTraces(pipeline.TraceSettings{Exporter: spans, Endpoint: where, Sampler: sdktrace.AlwaysSample(),
			Limits: sdktrace.NewSpanLimits(), Resource: res, Log: quiet}),
		metrics: metricpipe.New(metricpipe.Settings{Exporter: points, Endpoint: where, Interval: time.Hour, Resource: res, Log: quiet}),
		logs:    logpipe.New(logpipe.Settings{Exporter: records, Endpoint: where, Resource: res, Log: quiet}),
		where:   where,
	}
}

// work makes one span, one point and two records, one of them in the span.
func (r run) work(t *testing.T) {
	t.Helper()
	l := slog.New(lenslog.Tee(slog.DiscardHandler, r.logs.Provider))
	ctx, span := r.traces.Provider.Tracer("test").Start(context.Background(), "step")
	l.WarnContext(ctx, "in the step", "loss", 0.5)
	c, err := r.metrics.Provider.Meter("test").Int64Counter("steps")
	if err != nil {
		t.Fatal(err)
	}
	c.Add(ctx, 1)
	span.End()
	l.Info("outside")
}

// shutdown gives each signal so much time.
func (r run) shutdown(each time.Duration) map[string]error {
	out := map[string]error{}
	for signal, f := range map[string]func(context.Context) error{
		"spans": r.traces.Shutdown, "data points": r.metrics.Shutdown, "log records": r.logs.Shutdown,
	} {
		ctx, cancel := context.WithTimeout(context.Background(), each)
		out[signal] = f(ctx)
		cancel()
	}
	return out
}

// The three signals of one run arrive with one resource, and point at one another.
func TestThreeSignalsArrive(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	for protocol, addr := range map[string]string{"grpc": srv.GRPCAddr(), "http/protobuf": srv.HTTPAddr()} {
		srv.Reset()
		r := start(t, protocol, addr)
		r.work(t)
		for signal, err := range r.shutdown(time.Minute) {
			if err != nil {
				t.Errorf("%s: %s: %v", protocol, signal, err)
			}
		}
		spans, metrics, logs := srv.Spans(), srv.Metrics(), srv.Logs()
		if len(spans) != 1 || len(metrics) != 1 || len(logs) != 2 {
			t.Fatalf("%s: %d spans, %d metrics, %d records", protocol, len(spans), len(metrics), len(logs))
		}
		span, in, out := spans[0], logs[0], logs[1]
		if in.TraceID != span.TraceID || in.SpanID != span.SpanID || in.Flags != 1 || in.Body != "in the step" || in.Severity != 13 ||
			in.Attributes["loss"] != 0.5 || in.Scope.Name != lenslog.DefaultScope {
			t.Errorf("%s: record %+v of span %+v", protocol, in, span)
		}
		if out.TraceID.IsValid() || out.SpanID.IsValid() || out.Body != "outside" {
			t.Errorf("%s: record %+v", protocol, out)
		}
		if ex := metrics[0].Points[0].Exemplars; len(ex) != 1 || ex[0].TraceID != span.TraceID || ex[0].SpanID != span.SpanID {
			t.Errorf("%s: exemplars %+v", protocol, ex)
		}
		want := map[string]any{"service.name": "svc", "run.id": "r1"}
		for signal, got := range map[string]map[string]any{"span": span.Resource, "metric": metrics[0].Resource, "record": in.Resource} {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: resource of the %s: %v", protocol, signal, got)
			}
		}
	}
}

// With the collector away each signal says what it lost.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		r := start(t, protocol, otlptest.ClosedAddr(t))
		r.work(t)
		for signal, err := range r.shutdown(200 * time.Millisecond) {
			n := "1 of 1 "
			if signal == "log records" {
				n = "2 of 2 "
			}
			if err == nil || !strings.Contains(err.Error(), n+signal+" lost") || !strings.Contains(err.Error(), r.where) {
				t.Errorf("%s: %s: %v", protocol, signal, err)
			}
		}
	}
}
