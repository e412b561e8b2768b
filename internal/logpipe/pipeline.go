package logpipe

import (
	"context"
	"errors"
	"fmt"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/internal/ending"
	"github.com/nemo-lens/lens/internal/errlog"
	"github.com/nemo-lens/lens/internal/guard"
	"github.com/nemo-lens/lens/internal/outcome"
)

// Settings is everything that a pipeline is built from. Besides it the SDK reads
// OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME and OTEL_LOGRECORD_ATTRIBUTE_*, which
// cannot be turned off there.
type Settings struct {
	Exporter   sdklog.Exporter    // nil: records go to the processors only
	Processors []sdklog.Processor // besides the export, after it
	Endpoint   string             // to be named in errors and warnings
	Batch      Config
	Resource   *resource.Resource
	Log        *errlog.Log // nil is silence
}

// Pipeline is the way of a log record from its emission to the exporter. Every
// method is safe for concurrent use.
type Pipeline struct {
	Provider *sdklog.LoggerProvider
	queue    *queue // nil without an exporter
	others   []sdklog.Processor
	end      *ending.Shared
	endpoint string
}

// New builds the pipeline. It cannot fail. With an exporter it starts two
// goroutines, which Shutdown ends, and otherwise none.
func New(s Settings) *Pipeline {
	p := &Pipeline{endpoint: s.Endpoint, others: s.Processors}
	p.end = ending.New(p.verdict, nil)
	opts := []sdklog.LoggerProviderOption{sdklog.WithResource(guard.CleanResource(s.Resource))}
	if s.Exporter != nil {
		p.queue = newQueue(s.Exporter, s.Batch, s.Log, s.Endpoint, p.end)
		opts = append(opts, sdklog.WithProcessor(p.queue))
	}
	for _, sp := range s.Processors {
		opts = append(opts, sdklog.WithProcessor(sp))
	}
	p.Provider = sdklog.NewLoggerProvider(opts...)
	return p
}

// ForceFlush hands over every record that was emitted before the call, and waits for
// the outcome, at most until ctx is done. The error names the endpoint and wraps a
// [*LossError] when records were lost since the last report. So does the provider's
// own ForceFlush.
func (p *Pipeline) ForceFlush(ctx context.Context) error {
	var err error
	if p.queue != nil {
		err = p.queue.ForceFlush(ctx)
	}
	for _, sp := range p.others {
		e, _ := outcome.Call(ctx, fmt.Sprintf("ForceFlush of the log processor %T", sp), func() error { return sp.ForceFlush(ctx) })
		err = errors.Join(err, e)
	}
	return err
}

// Shutdown hands everything over, shuts exporter and processors down and ends the
// goroutines; records emitted from now on are dropped. Every caller waits for the same
// work and gets its result: an error that names the endpoint and wraps a [*LossError]
// with the numbers of the whole life when any record was lost. A caller whose ctx is
// done earlier gets the numbers as they are when what is still queued is lost.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	if p.queue != nil {
		p.queue.stop()
	}
	return p.end.Wait(ctx, func(ctx context.Context) error {
		var err error
		if p.queue != nil {
			err = p.queue.drain(ctx)
		}
		ctx, cancel := ending.Grace(ctx)
		defer cancel()
		return errors.Join(err, p.Provider.Shutdown(ctx))
	})
}

// Stats returns the numbers of the queue; all are zero without an exporter.
func (p *Pipeline) Stats() Stats {
	if p.queue == nil {
		return Stats{}
	}
	return p.queue.stats(p.end.GivenUp())
}

func (p *Pipeline) verdict(timeUp error, final bool) error {
	if p.queue != nil {
		if err := p.queue.verdict(timeUp, final); err != nil {
			return err
		}
	}
	return named(p.endpoint, fmt.Errorf("lens: the log pipeline did not shut down in time: %w", timeUp))
}

func named(endpoint string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lens: exporting log records to %s: %w", endpoint, err)
}
