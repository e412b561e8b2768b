package otlp

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/sdk/log"
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"

	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// NewLogExporter returns an exporter of log records. ctx is not kept. The error names
// the certificate file that cannot be used. told, which may be nil, hears of text that
// had to be repaired.
//
// Export returns an [*Error] when all records are lost, and a [*PartialError] when
// the receiver rejected some.
func NewLogExporter(_ context.Context, o settings.OTLP, told *report.Log) (log.Exporter, error) {
	o.Signal = settings.Logs
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	return &logExporter{c, told}, nil
}

type logExporter struct {
	client *client
	log    *report.Log
}

// Export implements log.Exporter. Records that are too many for one request go in
// several. It does not keep records.
func (e *logExporter) Export(ctx context.Context, records []log.Record) error {
	err := e.client.deliver(ctx, len(records), func(from, to int) exchange {
		var response collector.ExportLogsServiceResponse
		var t translator
		message := t.resourceLogs(records[from:to])
		t.tell(e.log, "log records")
		return exchange{
			request:  &collector.ExportLogsServiceRequest{ResourceLogs: message},
			response: &response,
			partial: func() (int64, string) {
				p := response.GetPartialSuccess()
				return p.GetRejectedLogRecords(), p.GetErrorMessage()
			},
			first: func() string { return "a log record" },
		}
	})
	if errors.Is(err, errShutdown) {
		return log.ErrExporterShutdown
	}
	return err
}

// ForceFlush implements log.Exporter. Nothing is held back.
func (e *logExporter) ForceFlush(ctx context.Context) error { return ctx.Err() }

func (e *logExporter) Shutdown(ctx context.Context) error { return e.client.shutdown(ctx) }

// LastError is that of the client.
func (e *logExporter) LastError() error { return e.client.LastError() }
