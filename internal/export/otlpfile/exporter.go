package otlpfile

import (
	"context"
	"errors"
	"io"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/report"
)

// GroupKey is the attribute of a span that says which span group it is of. Only files
// have it: a receiver gets what NeMo Lens sends.
const GroupKey = attribute.Key("nemo.span.group")

// maxKept is the largest line buffer that an exporter keeps for the next line.
const maxKept = 4 << 20

var errStopped = errors.New("lens: the file exporter has been shut down")

// write writes a message as a line.
func (l *lines) write(m proto.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return errStopped
	}
	var err error
	if l.line, err = appendLine(l.line[:0], m); err != nil {
		return err
	}
	_, err = l.out.Write(l.line)
	if cap(l.line) > maxKept {
		l.line = nil
	}
	return err
}

func (l *lines) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	return nil
}

type spanExporter struct{ lines }

// NewSpanExporter returns an exporter that writes each batch of spans to w with one
// Write. log, which may be nil, hears of text that had to be repaired. What could
// not be written is a *outcome.LossError.
func NewSpanExporter(w io.Writer, log *report.Log) sdktrace.SpanExporter {
	return &spanExporter{lines{out: w, log: log}}
}

func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s sdktrace.ReadOnlySpan) bool { return s == nil })
	if len(spans) == 0 {
		return nil
	}
	err := ctx.Err()
	if err == nil {
		for i, s := range spans {
			spans[i] = withGroup(s)
		}
		message, translateErr := otlp.TracesOf(spans, e.log)
		if err = translateErr; err == nil {
			err = e.write(message)
		}
	}
	if err != nil {
		return &outcome.LossError{What: "spans", Failed: uint64(len(spans)), Of: uint64(len(spans)), Cause: err}
	}
	return nil
}

func (e *spanExporter) Shutdown(context.Context) error { return e.stop() }

// MarshalLog is what the SDK's debug log shows of the exporter.
func (*spanExporter) MarshalLog() any { return struct{ Type string }{"lens/file"} }

// withGroup adds the group to the attributes of a span that knows its own.
func withGroup(s sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan {
	g, ok := s.(interface{ Group() string })
	if !ok || g.Group() == "" {
		return s
	}
	attrs := s.Attributes()
	return &grouped{s, append(attrs[:len(attrs):len(attrs)], GroupKey.String(g.Group()))}
}

type grouped struct {
	sdktrace.ReadOnlySpan
	attrs []attribute.KeyValue
}

func (g *grouped) Attributes() []attribute.KeyValue { return g.attrs }

type metricExporter struct {
	lines
	temporality sdkmetric.TemporalitySelector
	aggregation sdkmetric.AggregationSelector
}

// NewMetricExporter returns an exporter that writes each collection to w with one
// Write. Without temporality everything is cumulative, and without aggregation it is
// the SDK's default.
func NewMetricExporter(w io.Writer, temporality sdkmetric.TemporalitySelector, aggregation sdkmetric.AggregationSelector, log *report.Log) sdkmetric.Exporter {
	if temporality == nil {
		temporality = sdkmetric.DefaultTemporalitySelector
	}
	if aggregation == nil {
		aggregation = sdkmetric.DefaultAggregationSelector
	}
	return &metricExporter{lines{out: w, log: log}, temporality, aggregation}
}

func (e *metricExporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.temporality(k)
}

func (e *metricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.aggregation(k)
}

func (e *metricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	message, points, unknown := otlp.MetricsOf(rm, e.log)
	if points == 0 {
		return unknown
	}
	err := e.write(message)
	if errors.Is(err, errStopped) {
		err = sdkmetric.ErrExporterShutdown
	}
	return errors.Join(err, unknown)
}

func (e *metricExporter) ForceFlush(ctx context.Context) error { return ctx.Err() }

func (e *metricExporter) Shutdown(context.Context) error { return e.stop() }

// MarshalLog is what the SDK's debug log shows of the exporter.
func (*metricExporter) MarshalLog() any { return struct{ Type string }{"lens/file"} }

type logExporter struct{ lines }

// NewLogExporter returns an exporter that writes each batch of records to w with one
// Write.
func NewLogExporter(w io.Writer, log *report.Log) sdklog.Exporter {
	return &logExporter{lines{out: w, log: log}}
}

func (e *logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	if err := ctx.Err(); err != nil || len(records) == 0 {
		return err
	}
	err := e.write(otlp.LogsOf(records, e.log))
	if errors.Is(err, errStopped) {
		return sdklog.ErrExporterShutdown
	}
	return err
}

func (e *logExporter) ForceFlush(ctx context.Context) error { return ctx.Err() }

func (e *logExporter) Shutdown(context.Context) error { return e.stop() }
