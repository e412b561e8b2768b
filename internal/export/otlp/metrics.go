package otlp

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	pb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// NewMetricExporter returns an exporter of metrics. ctx is not kept. Without
// temporality everything is cumulative, and without aggregation it is the SDK's
// default. The error names the certificate file that cannot be used. log, which may be nil,
// is told of text that had to be repaired.
//
// Export returns an [*Error] when all points are lost, and a [*PartialError] when the
// receiver rejected some.
func NewMetricExporter(
	_ context.Context, o settings.OTLP, temporality metric.TemporalitySelector, aggregation metric.AggregationSelector, log *report.Log,
) (metric.Exporter, error) {
	o.Signal = settings.Metrics
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	if temporality == nil {
		temporality = metric.DefaultTemporalitySelector
	}
	if aggregation == nil {
		aggregation = metric.DefaultAggregationSelector
	}
	return &metricExporter{c, temporality, aggregation, log}, nil
}

type metricExporter struct {
	client      *client
	temporality metric.TemporalitySelector
	aggregation metric.AggregationSelector
	log         *report.Log
}

func (e *metricExporter) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return e.temporality(k)
}

func (e *metricExporter) Aggregation(k metric.InstrumentKind) metric.Aggregation {
	return e.aggregation(k)
}

// Export implements metric.Exporter. Points that are too many for one request go in
// several. A metric of an unknown kind costs itself, and the error says so beside that
// of the rest.
func (e *metricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	var t translator
	message, points, unknown := t.resourceMetrics(rm)
	t.tell(e.log, "metrics")
	if points == 0 {
		return unknown
	}
	err := e.client.deliver(ctx, points, func(from, to int) exchange {
		var response collector.ExportMetricsServiceResponse
		part := message
		if to-from < points {
			part = cutMetrics(message, from, to)
		}
		return exchange{
			request:  &collector.ExportMetricsServiceRequest{ResourceMetrics: []*pb.ResourceMetrics{part}},
			response: &response,
			partial: func() (int64, string) {
				p := response.GetPartialSuccess()
				return p.GetRejectedDataPoints(), p.GetErrorMessage()
			},
			first: func() string { return fmt.Sprintf("a data point of %q", part.ScopeMetrics[0].Metrics[0].Name) },
		}
	})
	if errors.Is(err, errShutdown) {
		err = metric.ErrExporterShutdown
	}
	return errors.Join(err, unknown)
}

// ForceFlush implements metric.Exporter. Nothing is held back.
func (e *metricExporter) ForceFlush(ctx context.Context) error { return ctx.Err() }

func (e *metricExporter) Shutdown(ctx context.Context) error { return e.client.shutdown(ctx) }

func (e *metricExporter) MarshalLog() any { return e.client.marshalLog() }

// LastError is that of the client.
func (e *metricExporter) LastError() error { return e.client.LastError() }
