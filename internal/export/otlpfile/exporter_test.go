package otlpfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// ofGroup is a span of the recorder, which knows its group.
type ofGroup struct {
	sdktrace.ReadOnlySpan
	group string
}

func (g ofGroup) Group() string { return g.group }

func spans(t *testing.T) []sdktrace.ReadOnlySpan {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("scope")
	ctx, parent := tracer.Start(t.Context(), "parent")
	_, child := tracer.Start(ctx, "child")
	child.SetAttributes(attribute.String("bad", "\xff"), attribute.Float64("nan", 0))
	child.End()
	parent.End()
	ended := recorder.Ended()
	return []sdktrace.ReadOnlySpan{ofGroup{ended[0], "step"}, nil, ended[1]}
}

func TestThreeSignalsInOneFile(t *testing.T) {
	var out bytes.Buffer
	if err := NewSpanExporter(&out, nil).ExportSpans(t.Context(), spans(t)); err != nil {
		t.Fatal(err)
	}
	m := NewMetricExporter(&out, nil, nil, nil)
	if err := m.Export(t.Context(), &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: "n", Data: metricdata.Sum[int64]{Temporality: m.Temporality(sdkmetric.InstrumentKindCounter), DataPoints: []metricdata.DataPoint[int64]{{Value: 3}}}},
	}}}}); err != nil {
		t.Fatal(err)
	}
	l := NewLogExporter(&out, nil)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(l)))
	var record log.Record
	record.SetBody(attribute.StringValue("hello"))
	record.SetTimestamp(time.Unix(1, 0))
	provider.Logger("scope").Emit(t.Context(), record)

	var kinds []string
	for line := range strings.Lines(out.String()) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil || len(object) != 1 {
			t.Fatalf("%v: %s", err, line)
		}
		for kind := range object {
			kinds = append(kinds, kind)
		}
	}
	if got := strings.Join(kinds, " "); got != "resourceSpans resourceMetrics resourceLogs" {
		t.Errorf("lines of %s", got)
	}
	for _, want := range []string{`"name":"child"`, `"name":"parent"`, "\uFFFD", `"asInt":"3"`, `"stringValue":"hello"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), `{"key":"nemo.span.group","value":{"stringValue":"step"}}`); n != 1 {
		t.Errorf("%d spans have a group:\n%s", n, out.String())
	}
}

func TestWhatIsNotWrittenIsCountedAsLost(t *testing.T) {
	full := errors.New("no space left on device")
	e := NewSpanExporter(failing{full}, nil)
	err := e.ExportSpans(t.Context(), spans(t))
	var loss *outcome.LossError
	if !errors.As(err, &loss) || loss.Lost() != 2 || !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.ExportSpans(t.Context(), spans(t)); !errors.Is(err, errStopped) {
		t.Errorf("after Shutdown: %v", err)
	}
	m := NewMetricExporter(failing{os.ErrClosed}, nil, nil, nil)
	_ = m.Shutdown(t.Context())
	rm := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{Name: "n", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{}}}}}}}}
	if err := m.Export(t.Context(), rm); !errors.Is(err, sdkmetric.ErrExporterShutdown) {
		t.Errorf("metrics after Shutdown: %v", err)
	}
	l := NewLogExporter(failing{os.ErrClosed}, nil)
	_ = l.Shutdown(t.Context())
	if err := l.Export(t.Context(), make([]sdklog.Record, 1)); !errors.Is(err, sdklog.ErrExporterShutdown) {
		t.Errorf("logs after Shutdown: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
