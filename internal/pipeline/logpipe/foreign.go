package logpipe

import (
	"context"
	"fmt"
	"reflect"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/report"
)

// foreign keeps what a processor of the application does wrong away from the application that
// logs: a panic is caught and said, and a call that does not come back is left alone
// when its context is done.
type foreign struct {
	sdklog.Processor
	log *report.Log
}

// guarded wraps the processors and leaves out those that are nil.
func guarded(processors []sdklog.Processor, log *report.Log) []sdklog.Processor {
	var out []sdklog.Processor
	for _, p := range processors {
		if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			log.Warn("nil log processor", fmt.Sprintf("lens: a log processor is nil (%T) and was left out", p))
			continue
		}
		out = append(out, foreign{p, log})
	}
	return out
}

func (f foreign) name(method string) string {
	return fmt.Sprintf("%s of the log processor %T", method, f.Processor)
}

func (f foreign) caught(method string) {
	if r := recover(); r != nil {
		reentry.Do(func() { f.log.Warn("log processor panic", outcome.Escaped(f.name(method), r).Error()) })
	}
}

// Enabled is true when the processor cannot say.
func (f foreign) Enabled(ctx context.Context, p sdklog.EnabledParameters) (yes bool) {
	yes = true
	defer f.caught("Enabled")
	return f.Processor.Enabled(ctx, p)
}

func (f foreign) OnEmit(ctx context.Context, r *sdklog.Record) error {
	defer f.caught("OnEmit")
	return f.Processor.OnEmit(ctx, r)
}

func (f foreign) ForceFlush(ctx context.Context) error {
	err, _ := outcome.Call(ctx, f.name("ForceFlush"), func() error { return f.Processor.ForceFlush(ctx) })
	return err
}

func (f foreign) Shutdown(ctx context.Context) error {
	err, _ := outcome.Call(ctx, f.name("Shutdown"), func() error { return f.Processor.Shutdown(ctx) })
	return err
}
