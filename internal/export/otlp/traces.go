package otlp

import (
	"context"
	"fmt"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// NewTraceExporter returns an exporter of spans. ctx is not kept. The error names the
// certificate file that cannot be used. log, which may be nil, is told of text that had
// to be repaired and of what spans have lost to their limits.
//
// ExportSpans returns an [*Error] when all spans are lost, a [*PartialError] when the
// receiver rejected some, and a [*outcome.LossError] when some of several requests
// were not delivered. The latter two have a method LostSpans.
func NewTraceExporter(_ context.Context, o settings.OTLP, log *report.Log) (*TraceExporter, error) {
	o.Signal = settings.Traces
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	e := &TraceExporter{client: c}
	e.batches.New = func() any { return &spanBatch{log: log, encoder: encoder{limits: guard.LimitsOf(0)}} }
	return e, nil
}

// TraceExporter sends spans. It implements sdktrace.SpanExporter; the recorder's spans
// it takes as they are.
type TraceExporter struct {
	client  *client
	batches sync.Pool // of *spanBatch
}

// ExportSpans implements sdktrace.SpanExporter. Spans that are too many for one
// request go in several. It does not keep spans.
func (e *TraceExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return export(ctx, e, spans)
}

// Export is ExportSpans for spans that have ended.
func (e *TraceExporter) Export(ctx context.Context, spans []*record.Span) error {
	return export(ctx, e, spans)
}

func export[S sdktrace.ReadOnlySpan](ctx context.Context, e *TraceExporter, spans []S) error {
	batch := e.batches.Get().(*spanBatch)
	defer e.batches.Put(batch)
	return e.client.deliver(ctx, len(spans), func(from, to int) exchange {
		var response collector.ExportTraceServiceResponse
		return exchange{
			request:  &collector.ExportTraceServiceRequest{ResourceSpans: encode(batch, spans[from:to])},
			response: &response,
			partial: func() (int64, string) {
				p := response.GetPartialSuccess()
				return p.GetRejectedSpans(), p.GetErrorMessage()
			},
			first: func() string { return fmt.Sprintf("span %q", guard.FixText(spans[from].Name(), 64)) },
		}
	})
}

// Shutdown implements sdktrace.SpanExporter.
func (e *TraceExporter) Shutdown(ctx context.Context) error { return e.client.shutdown(ctx) }

// MarshalLog is what the SDK logs of the exporter.
func (e *TraceExporter) MarshalLog() any { return e.client.marshalLog() }

// LastError is that of the client.
func (e *TraceExporter) LastError() error { return e.client.LastError() }
