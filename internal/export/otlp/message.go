package otlp

import (
	"fmt"

	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/report"
)

// Messages for those that write them elsewhere than to a receiver: what a request
// would hold, with its fields filled in. told, which may be nil, hears of text that
// had to be repaired.

// TracesOf translates spans.
func TracesOf(spans []sdktrace.ReadOnlySpan, told *report.Log) (*traces.TracesData, error) {
	batch := &spanBatch{log: told, encoder: encoder{limits: guard.LimitsOf(0)}}
	encoded, err := proto.Marshal(&traces.TracesData{ResourceSpans: encode(batch, spans)})
	if err != nil {
		return nil, fmt.Errorf("lens: spans in OTLP: %w", err)
	}
	out := &traces.TracesData{}
	if err := proto.Unmarshal(encoded, out); err != nil {
		return nil, fmt.Errorf("lens: spans in OTLP: %w", err)
	}
	return out, nil
}

// MetricsOf translates metrics and counts their points. A metric of an unknown kind
// costs itself, and the error says so beside the rest.
func MetricsOf(rm *metricdata.ResourceMetrics, told *report.Log) (out *metrics.MetricsData, points int, err error) {
	var t translator
	message, points, err := t.resourceMetrics(rm)
	t.tell(told, "metrics")
	return &metrics.MetricsData{ResourceMetrics: []*metrics.ResourceMetrics{message}}, points, err
}

// LogsOf translates log records.
func LogsOf(records []log.Record, told *report.Log) *logs.LogsData {
	var t translator
	out := &logs.LogsData{ResourceLogs: t.resourceLogs(records)}
	t.tell(told, "log records")
	return out
}
