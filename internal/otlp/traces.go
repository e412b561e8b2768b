package otlp

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/nemo-lens/lens/internal/otelenv"
)

// NewTraceExporter returns an exporter of spans. ctx is not kept. The error names the
// certificate file that cannot be used.
//
// ExportSpans returns an [*Error] when all spans are lost, and a [*PartialError],
// which has a method LostSpans, when the receiver rejected some.
func NewTraceExporter(_ context.Context, o otelenv.OTLP) (sdktrace.SpanExporter, error) {
	o.Signal = otelenv.Traces
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	// A traceClient needs no start.
	return &traceExporter{client: c, exporter: otlptrace.NewUnstarted(traceClient{c})}, nil
}

type traceExporter struct {
	client   *client
	exporter *otlptrace.Exporter // translates
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *traceExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.exporter.ExportSpans(ctx, spans)
	if own := errors.Unwrap(err); own != nil {
		return own // without the prefix that otlptrace adds
	}
	return err
}

// Shutdown implements sdktrace.SpanExporter.
func (e *traceExporter) Shutdown(ctx context.Context) error { return e.client.shutdown(ctx) }

// MarshalLog is what the SDK logs of the exporter.
func (e *traceExporter) MarshalLog() any { return e.client.marshalLog() }

func (c *client) marshalLog() any {
	return struct{ Type, Endpoint string }{"otlp", c.where}
}

// traceClient implements otlptrace.Client.
type traceClient struct{ *client }

func (c traceClient) Start(context.Context) error { return nil }

func (c traceClient) Stop(ctx context.Context) error { return c.shutdown(ctx) }

func (c traceClient) UploadTraces(ctx context.Context, spans []*pb.ResourceSpans) error {
	var response collector.ExportTraceServiceResponse
	if err := c.export(ctx, &collector.ExportTraceServiceRequest{ResourceSpans: spans}, &response); err != nil {
		return err
	}
	sent := 0
	for _, r := range spans {
		for _, s := range r.GetScopeSpans() {
			sent += len(s.GetSpans())
		}
	}
	p := response.GetPartialSuccess()
	return c.partial(p.GetRejectedSpans(), p.GetErrorMessage(), sent)
}

// LastError is that of the client.
func (e *traceExporter) LastError() error { return e.client.LastError() }
