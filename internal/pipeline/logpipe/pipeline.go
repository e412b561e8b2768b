package logpipe

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe/safelog"
	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/report"
)

const (
	// DefaultQueueSize is four times the SDK's. A record takes about half a kilobyte
	// besides its texts, so that a full queue takes 5 MB.
	DefaultQueueSize = 8192

	DefaultDelay = time.Second // the SDK's
)

// what log records are called in errors.
const what = "log records"

// Settings is everything that a pipeline is built from. Besides it the SDK reads
// OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME and OTEL_LOGRECORD_ATTRIBUTE_*, which
// cannot be turned off there.
type Settings struct {
	Exporter   sdklog.Exporter    // nil: records go to the processors only
	Processors []sdklog.Processor // besides the export, after it
	Endpoint   string             // to be named in errors and warnings
	Batch      queue.Config
	Resource   *resource.Resource
	Log        *report.Log // nil is silence
}

// Pipeline is the way of a log record from its emission to the exporter. Every
// method is safe for concurrent use.
type Pipeline struct {
	Provider   LoggerProvider
	exporter   sdklog.Exporter // nil without one, as the queue then is
	queue      *queue.Queue[sdklog.Record]
	others     []sdklog.Processor
	log        *report.Log
	endpoint   string
	rest       *queue.Ending // of what is besides the queue
	suppressed atomic.Uint64
	closed     atomic.Bool // the exporter is
}

// LoggerProvider is the SDK's with loggers that do not panic.
type LoggerProvider struct{ *sdklog.LoggerProvider }

// Logger implements log.LoggerProvider.
func (p LoggerProvider) Logger(name string, opts ...log.LoggerOption) log.Logger {
	return safelog.Logger(p.LoggerProvider.Logger(name, opts...))
}

// Stats counts log records. Those that were suppressed are not among those given.
type Stats struct {
	queue.Stats

	// Suppressed counts records that exporting made and that were not queued. Those
	// that a handler finds disabled before they are emitted are not among them.
	Suppressed uint64
}

// New builds the pipeline. It cannot fail. With an exporter it starts two
// goroutines, which Shutdown ends, and otherwise none.
func New(s Settings) *Pipeline {
	p := &Pipeline{exporter: s.Exporter, log: s.Log, endpoint: s.Endpoint, others: guarded(s.Processors, s.Log)}
	p.rest = queue.NewEnding(late, nil)
	opts := []sdklog.LoggerProviderOption{sdklog.WithResource(s.Resource)}
	if s.Exporter != nil {
		if s.Batch.QueueSize <= 0 {
			s.Batch.QueueSize = DefaultQueueSize
		}
		if s.Batch.Delay <= 0 {
			s.Batch.Delay = DefaultDelay
		}
		s.Batch.What, s.Batch.Endpoint, s.Batch.Exporter = what, s.Endpoint, p.exporterName()
		s.Batch.Close = p.closeExporter
		s.Batch.OnLoss = func(loss *outcome.LossError) {
			reentry.Do(func() { loss.Warn(s.Log) })
		}
		p.queue = queue.New(s.Batch, p.export)
		opts = append(opts, sdklog.WithProcessor(processor{p}))
	}
	for _, sp := range p.others {
		opts = append(opts, sdklog.WithProcessor(sp))
	}
	report.MergingResource(func() { p.Provider = LoggerProvider{sdklog.NewLoggerProvider(opts...)} })
	return p
}

func (p *Pipeline) exporterName() string { return fmt.Sprintf("the log exporter %T", p.exporter) }

func (p *Pipeline) closeExporter(ctx context.Context) (err error) {
	p.closed.Store(true)
	reentry.Do(func() { err = p.exporter.Shutdown(reentry.Mark(ctx)) })
	return err
}

// ForceFlush hands over every record that was emitted before the call, and waits for
// the outcome, at most until ctx is done. The error wraps a *[outcome.LossError] that
// names the endpoint when records were lost since the last report. So does the
// provider's own ForceFlush.
func (p *Pipeline) ForceFlush(ctx context.Context) error {
	var err error
	if p.queue != nil {
		err = processor{p}.ForceFlush(ctx)
	}
	for _, sp := range p.others {
		err = errors.Join(err, sp.ForceFlush(ctx))
	}
	return err
}

// Shutdown hands everything over, shuts exporter and processors down and ends the
// goroutines; records emitted from now on are dropped. Every caller waits for the same
// work and gets its result: an error that wraps a *[outcome.LossError] with the numbers
// of the whole life when any record was lost. A caller whose ctx is done earlier gets
// the numbers as they are when what is still queued is lost.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	var err error
	if p.queue != nil {
		err = p.queue.Shutdown(ctx)
	}
	ctx, cancel := queue.Grace(ctx)
	defer cancel()
	return outcome.Both(err, p.rest.Wait(ctx, p.Provider.Shutdown))
}

func late(timeUp error, _ bool) error {
	return fmt.Errorf("lens: the log processors did not shut down in time: %w", timeUp)
}

// Stats returns the numbers of the queue; all are zero without an exporter.
func (p *Pipeline) Stats() Stats {
	if p.queue == nil {
		return Stats{}
	}
	return Stats{p.queue.Stats(), p.suppressed.Load()}
}
