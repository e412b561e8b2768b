package metricpipe

import (
	"context"
	"fmt"
	"reflect"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/report"
)

// foreign keeps what a reader of the application does wrong away from the others: a panic
// is an error, and a call that does not come back is left alone when its context is
// done.
type foreign struct{ sdkmetric.Reader }

// flushing is a reader with something to flush.
type flushing struct {
	foreign
	flush func(context.Context) error
}

// guarded wraps the readers and leaves out those that are nil.
func guarded(readers []sdkmetric.Reader, log *report.Log) []sdkmetric.Reader {
	var out []sdkmetric.Reader
	for _, r := range readers {
		if v := reflect.ValueOf(r); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			log.Warn("nil metric reader", fmt.Sprintf("lens: a metric reader is nil (%T) and was left out", r))
			continue
		}
		if f, ok := r.(interface{ ForceFlush(context.Context) error }); ok {
			out = append(out, flushing{foreign{r}, f.ForceFlush})
		} else {
			out = append(out, foreign{r})
		}
	}
	return out
}

func (f foreign) Shutdown(ctx context.Context) error {
	err, _ := outcome.Call(ctx, fmt.Sprintf("Shutdown of the metric reader %T", f.Reader), func() error { return f.Reader.Shutdown(ctx) })
	return err
}

func (f flushing) ForceFlush(ctx context.Context) error {
	err, _ := outcome.Call(ctx, fmt.Sprintf("ForceFlush of the metric reader %T", f.Reader), func() error { return f.flush(ctx) })
	return err
}
