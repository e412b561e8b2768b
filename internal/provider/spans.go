package provider

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/queue"
)

// spanQueue is the queue as a processor of the SDK's provider.
type spanQueue struct {
	*queue.Queue[sdktrace.ReadOnlySpan]
}

func (spanQueue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span. Others are not counted.
func (q spanQueue) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		q.Put(s)
	}
}

func (q spanQueue) ForceFlush(ctx context.Context) error { return q.Flush(ctx) }

// Shutdown does nothing: the end is the pipeline's. The SDK's provider would give its
// result to the first caller only.
func (spanQueue) Shutdown(context.Context) error { return nil }

// MarshalLog is what the SDK's debug log shows instead of the fields.
func (spanQueue) MarshalLog() any { return struct{ Type string }{"lens/queue"} }
