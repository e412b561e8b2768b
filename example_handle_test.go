//go:build !lens_noop

package lens_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenslog"
)

// Every method is safe on a nil handle, so that a program that has none needs
// no condition.
func ExampleTelemetryHandle() {
	var h *lens.TelemetryHandle
	_, span := h.Tracer().Start(context.Background(), "nothing")
	span.End()
	fmt.Println(h.IsExporting(), h.RunID() == "", h.Shutdown(context.Background()))
	// Output: false true <nil>
}

// What became of every span.
func ExampleTelemetryHandle_Stats() {
	h := setUp(lens.WithSpanExporter(tracetest.NewInMemoryExporter()))
	defer shutDown(h)

	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "train")
	for range 3 {
		_, span := lens.ManagedSpan(ctx, lens.Evaluate, "evaluate")
		lens.End(span, nil)
	}
	_ = h.ForceFlush(context.Background())

	var s lens.Stats = h.Stats()
	fmt.Printf("started %d, open %d, ended %d: exported %d, dropped %d, failed %d, queued %d\n",
		s.Started, s.Open, s.Ended, s.Exported, s.Dropped, s.Failed, s.Queued)
	var metrics lens.SignalStats = s.Metrics
	fmt.Println("data points lost:", metrics.Lost)
	lens.End(job, nil)
	// Output:
	// started 4, open 1, ended 3: exported 3, dropped 0, failed 0, queued 0
	// data points lost: 0
}

// A collector that takes nothing: the loss is counted, and said at the end.
func ExampleTelemetryHandle_Shutdown() {
	h := setUp(lens.WithSpanExporter(refusing{}))
	_, span := lens.ManagedSpan(context.Background(), lens.Evaluate, "evaluate")
	lens.End(span, nil)

	err := h.Shutdown(context.Background())
	fmt.Println("reported:", err != nil, "lost:", h.Stats().Failed)
	fmt.Println("again, the same:", h.Shutdown(context.Background()).Error() == err.Error())
	// Output:
	// reported: true lost: 1
	// again, the same: true
}

type refusing struct{}

func (refusing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("the collector is full")
}

func (refusing) Shutdown(context.Context) error { return nil }

// Before a notebook cell or a checkpoint ends: hand over what has ended.
func ExampleTelemetryHandle_ForceFlush() {
	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanExporter(spans))
	defer shutDown(h)

	_, span := lens.ManagedSpan(context.Background(), lens.Checkpoint, "save")
	lens.End(span, nil)
	fmt.Println(h.ForceFlush(context.Background()), len(spans.GetSpans()))
	// Output: <nil> 1
}

// What is the process doing? A debug page or a watchdog asks while it hangs.
func ExampleTelemetryHandle_OpenSpans() {
	h := setUp()
	defer shutDown(h)

	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "train")
	_, save := lens.ManagedSpan(ctx, lens.Checkpoint, "save", attribute.Int("dl.iteration", 900))
	show := func(s lens.OpenSpan) {
		fmt.Printf("%s (%s)%s\n", s.Name, s.Group, join(s.Attributes))
	}
	for _, s := range h.OpenSpans() {
		show(s)
	}
	lens.End(save, nil)
	lens.End(job, nil)
	fmt.Println(len(h.OpenSpans()))
	// Output:
	// train (job)
	// save (checkpoint) dl.iteration=900
	// 0
}

// Where the spans go and under which id, for the application's own banner.
func ExampleTelemetryHandle_Endpoint() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.RunID = true, "run-7"
	cfg.Endpoint, cfg.Protocol = "http://127.0.0.1:4317", "grpc"
	cfg.MetricsEnabled = false
	h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(quiet))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.RunID(), h.IsExporting(), h.Endpoint())
	shutDown(h)
	// Output: run-7 true grpc://127.0.0.1:4317 (plaintext)
}

// Spans that no group gates, with OpenTelemetry's own interface.
func ExampleTelemetryHandle_Tracer() {
	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanExporter(spans))
	defer shutDown(h)

	_, span := h.Tracer().Start(context.Background(), "tokenize")
	span.End()
	printTree(h, spans)
	// Output: tokenize
}

// Metrics of the application go the way of the spans. A reader of its own, one of
// Prometheus for example, gets them too.
func ExampleTelemetryHandle_Meter() {
	reader := sdkmetric.NewManualReader()
	var also lens.MetricReader = reader
	h := setUp(lens.WithMetricReader(also))
	defer shutDown(h)

	tokens, err := h.Meter().Int64Counter("train.tokens", metric.WithUnit("{token}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		tokens.Add(context.Background(), 4096)
	}
	fmt.Println(total(reader, "train.tokens"))
	// Output: 12288
}

// An instrumentation library takes the provider.
func ExampleTelemetryHandle_MeterProvider() {
	reader := sdkmetric.NewManualReader()
	h := setUp(lens.WithMetricReader(reader))
	defer shutDown(h)

	hits, _ := h.MeterProvider().Meter("example.com/cache").Int64Counter("cache.hits")
	hits.Add(context.Background(), 2)
	fmt.Println(total(reader, "cache.hits"))
	// Output: 2
}

// total adds up a counter.
func total(reader *sdkmetric.ManualReader, name string) (sum int64) {
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		panic(err)
	}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, point := range data.DataPoints {
					sum += point.Value
				}
			}
		}
	}
	return sum
}

// Records of log/slog are exported beside the spans, with the ids of the span
// that they belong to.
func ExampleTelemetryHandle_LoggerProvider() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter = true, "console"
	cfg.LogsEnabled, cfg.TracesEnabled, cfg.MetricsEnabled = true, false, false
	var out bytes.Buffer
	h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithConsoleWriter(&out), lens.WithLogger(quiet))
	if err != nil {
		fmt.Println(err)
		return
	}
	logger := slog.New(lenslog.NewExportHandler(h.LoggerProvider()))
	logger.Info("checkpoint saved", "iteration", 900)
	shutDown(h)

	var record struct{ Body struct{ Value string } }
	fmt.Println(json.Unmarshal(bytes.TrimSpace(out.Bytes()), &record), record.Body.Value)
	fmt.Println("lines:", strings.Count(out.String(), "\n"))
	// Output:
	// <nil> checkpoint saved
	// lines: 1
}
