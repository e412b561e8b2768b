package logpipe

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// processor is the way into the queue.
type processor struct{ *Pipeline }

var _ sdklog.Processor = processor{}

// Enabled implements sdklog.Processor.
func (processor) Enabled(ctx context.Context, p sdklog.EnabledParameters) bool {
	return !reentry.Marked(ctx) && !reentry.Plumbing(p.InstrumentationScope.Name)
}

// OnEmit queues a copy of the record. It implements sdklog.Processor.
func (p processor) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if reentry.Marked(ctx) || reentry.Plumbing(r.InstrumentationScope().Name) || reentry.InDo() {
		p.suppressed.Add(1)
		return nil
	}
	p.queue.Put(r.Clone())
	return nil
}

// ForceFlush implements sdklog.Processor; see [Pipeline.ForceFlush].
func (p processor) ForceFlush(ctx context.Context) error {
	err := p.queue.Flush(ctx)
	if ctx.Err() != nil || p.closed.Load() {
		return err
	}
	// The exporter may hold something back itself.
	held, _ := outcome.Call(ctx, "ForceFlush of "+p.exporterName(), func() (err error) {
		reentry.Do(func() { err = p.exporter.ForceFlush(reentry.Mark(ctx)) })
		return err
	})
	return outcome.Both(err, held)
}

// Shutdown implements sdklog.Processor. The end is the pipeline's, which gives its
// result to every caller.
func (processor) Shutdown(context.Context) error { return nil }
