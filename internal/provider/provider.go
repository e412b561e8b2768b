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

	"github.com/nemo-lens/lens/internal/batch"
	"github.com/nemo-lens/lens/internal/errlog"
	"github.com/nemo-lens/lens/internal/guard"
	"github.com/nemo-lens/lens/internal/openspans"
)

// Settings is everything that a pipeline is built from; nothing else is read.
type Settings struct {
	Exporter   sdktrace.SpanExporter // nil: spans go to the processors only
	Endpoint   string                // to be named in errors
	Batch      batch.Config
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
	queue    *batch.Processor // nil without an exporter
	endpoint string
}

// lastMoment is what Shutdown may take beyond the deadline of its context.
const lastMoment = 50 * time.Millisecond

// New builds the pipeline. It cannot fail; it starts the goroutine of the queue.
func New(s Settings) *Pipeline {
	p := &Pipeline{Open: openspans.NewLimited(0, func(limit int) {
		s.Log.Warn("open spans", fmt.Sprintf("more than %d spans are open; those beyond are not shown by OpenSpans and not closed at shutdown: is one never ended?", limit))
	}), Sampler: s.Sampler, endpoint: s.Endpoint}
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
		s.Batch.OnLoss = func(st batch.Stats) {
			s.Log.Warn(spansLost, fmt.Sprintf("spans are being lost on the way to %s: %d dropped because the queue was full, %d failed to be sent",
				s.Endpoint, st.Dropped, st.Failed))
		}
		p.queue = batch.New(recovering{s.Exporter, s}, s.Batch)
		opts = append(opts, sdktrace.WithSpanProcessor(ownedQueue{p.queue, p}))
	}
	for _, sp := range guarded(s.Processors, s.Log) {
		opts = append(opts, sdktrace.WithSpanProcessor(sp))
	}
	p.Provider = sdktrace.NewTracerProvider(opts...)
	return p
}

const spansLost = "spans lost"

// recovering says when spans arrive again after some were lost.
type recovering struct {
	sdktrace.SpanExporter
	s Settings
}

func (r recovering) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		r.s.Log.Recovered(spansLost, "lens: spans are exported again to "+r.s.Endpoint)
	}
	return err
}

// ownedQueue hides the end of the queue from the SDK's provider, which would
// give its result to the first caller only.
type ownedQueue struct {
	*batch.Processor
	pipeline *Pipeline
}

func (ownedQueue) Shutdown(context.Context) error { return nil }

func (q ownedQueue) ForceFlush(ctx context.Context) error {
	return q.pipeline.named(q.Processor.ForceFlush(ctx))
}

// ForceFlush hands over every span that has ended, and reports what was lost.
func (p *Pipeline) ForceFlush(ctx context.Context) error { return p.Provider.ForceFlush(ctx) }

// Shutdown ends the spans that are still open, hands everything over, and
// reports what was lost. Every caller gets the result of the same work.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	p.Open.CloseAll(ctx)
	var err error
	if p.queue != nil {
		err = p.named(p.queue.Shutdown(ctx))
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

func (p *Pipeline) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lens: exporting to %s: %w", p.endpoint, err)
}

// Counts returns the numbers of the queue; all are zero without an exporter.
func (p *Pipeline) Counts() batch.Stats {
	if p.queue == nil {
		return batch.Stats{}
	}
	return p.queue.Stats()
}

// HasQueue reports whether there is an exporter, and so a queue.
func (p *Pipeline) HasQueue() bool { return p.queue != nil }
