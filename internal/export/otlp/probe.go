package otlp

import (
	"context"
	"errors"
	"fmt"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/settings"
)

// Probe asks the receiver with an empty request, within the timeout, whether it takes
// the signal. The error is that of an export.
func Probe(ctx context.Context, o settings.OTLP, timeout time.Duration) error {
	o.Timeout = timeout
	c, err := newClient(o)
	if err != nil {
		return err
	}
	var request, response proto.Message
	switch o.Signal {
	case settings.Traces:
		request, response = &traces.ExportTraceServiceRequest{}, &traces.ExportTraceServiceResponse{}
	case settings.Metrics:
		request, response = &metrics.ExportMetricsServiceRequest{}, &metrics.ExportMetricsServiceResponse{}
	case settings.Logs:
		request, response = &logs.ExportLogsServiceRequest{}, &logs.ExportLogsServiceResponse{}
	default:
		return fmt.Errorf("lens: no signal %q", o.Signal)
	}
	return errors.Join(c.export(ctx, request, response), c.shutdown(ctx))
}
