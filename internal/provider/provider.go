// Package provider assembles the SDK's tracer provider: the table of open
// spans, the queue, and the exporter.
package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/errlog"
	"github.com/nemo-lens/lens/internal/guard"
	"github.com/nemo-lens/lens/internal/openspans"
	"github.com/nemo-lens/lens/internal/outcome"
	"github.com/nemo-lens/lens/internal/queue"
)

// Settings is everything that a pipeline is built from; nothing else is read.
type Settings struct {
	Exporter   sdktrace.SpanExporter // nil: spans go to the processors only
	Endpoint   string                // to be named in errors
	Batch      queue.Config
	Own        []sdktrace.SpanProcessor // of lens, before all others
	Processors []sdktrace.SpanProcessor // of the program
	Sampler    sdktrace.Sampler
	IDs        sdktrace.IDGenerator
	Limits     sdktrace.SpanLimits
	Resource   *resource.Resource
	Log        *errlog.Log
}

// Pipeline is the way of a span from its start to the exporter.
type Pipeline struct {
	Provider *sdktrace.TracerProvider
	Open     *openspans.Table
	Sampler  sdktrace.Sampler
	queue    *queue.Queue[sdktrace.ReadOnlySpan] // nil without an exporter
}

// lastMoment is what Shutdown may take beyond the deadline of its context.
const lastMoment = 50 * time.Millisecond

// New builds the pipeline. It cannot fail; it starts the goroutine of the queue.
func New(s Settings) *Pipeline {
	p := &Pipeline{Open: openspans.NewLimited(0, func(limit int) {
		s.Log.Warn("open spans", fmt.Sprintf("more than %d spans are open; those beyond are not shown by OpenSpans and not closed at shutdown: is one never ended?", limit))
	}), Sampler: s.Sampler}
	opts := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(guard.CleanResource(s.Resource)),
		sdktrace.WithSampler(s.Sampler),
		sdktrace.WithIDGenerator(s.IDs),
		sdktrace.WithRawSpanLimits(s.Limits),
	}
	for _, sp := range s.Own {
		opts = append(opts, sdktrace.WithSpanProcessor(sp))
	}
	// Before the queue, so that what it ends at shutdown still gets there.
	opts = append(opts, sdktrace.WithSpanProcessor(p.Open))
	if s.Exporter != nil {
		exp := s.Exporter
		s.Batch.What, s.Batch.Endpoint = "spans", s.Endpoint
		s.Batch.Exporter = fmt.Sprintf("the span exporter %T", s.Exporter)
		s.Batch.Close = exp.Shutdown
		s.Batch.OnLoss = func(loss *outcome.LossError) { loss.Warn(s.Log) }
		p.queue = queue.New(s.Batch, func(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
			err := exp.ExportSpans(ctx, spans)
			if err == nil {
				outcome.Recovered(s.Log, "spans", s.Endpoint)
			}
			return err
		})
		opts = append(opts, sdktrace.WithSpanProcessor(spanQueue{p.queue}))
	}
	for _, sp := range guarded(s.Processors, s.Log) {
		opts = append(opts, sdktrace.WithSpanProcessor(sp))
	}
	p.Provider = sdktrace.NewTracerProvider(opts...)
	return p
}

// ForceFlush hands over every span that has ended, and reports what was lost.
func (p *Pipeline) ForceFlush(ctx context.Context) error { return p.Provider.ForceFlush(ctx) }

// Shutdown ends the spans that are still open, hands everything over, and
// reports what was lost. Every caller gets the result of the same work.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	p.Open.CloseAll(ctx)
	var err error
	if p.queue != nil {
		err = p.queue.Shutdown(ctx)
	}
	if ctx.Err() != nil {
		// The queue has used the time up and said so; the program's processors
		// still get a moment to end.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
		defer cancel()
	}
	return errors.Join(err, p.Provider.Shutdown(ctx))
}

// Counts returns the numbers of the queue; all are zero without an exporter.
func (p *Pipeline) Counts() queue.Stats {
	if p.queue == nil {
		return queue.Stats{}
	}
	return p.queue.Stats()
}

// HasQueue reports whether there is an exporter, and so a queue.
func (p *Pipeline) HasQueue() bool { return p.queue != nil }
