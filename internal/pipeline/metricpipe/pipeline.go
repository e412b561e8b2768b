package metricpipe

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// Settings is everything that a pipeline is built from. Besides it the SDK reads
// OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME and OTEL_METRICS_EXEMPLAR_FILTER, which
// cannot be turned off there.
type Settings struct {
	Exporter sdkmetric.Exporter // nil: metrics go to the readers only
	Readers  []sdkmetric.Reader // besides the export, after it
	Endpoint string             // to be named in errors and warnings

	// Interval is the time from one collection to the next, and Timeout what the
	// collection and its export may each
	// take. 0 and less mean settings' defaults, 10 s each.
	Interval, Timeout time.Duration

	Resource *resource.Resource
	Log      *report.Log // nil is silence
}

// Pipeline is the way of a measurement from its instrument to the exporter. Every
// method is safe for concurrent use.
type Pipeline struct {
	Provider *MeterProvider
	sender   *sender // nil without an exporter
	others   []sdkmetric.Reader
	end      *queue.Ending
	endpoint string
}

// New builds the pipeline. It cannot fail. With an exporter it starts one goroutine,
// which Shutdown ends, and otherwise none.
func New(s Settings) *Pipeline {
	callbacks := newCallbackGuard(s.Log)
	p := &Pipeline{endpoint: s.Endpoint, others: guarded(s.Readers, s.Log)}
	var collected chan struct{}
	if s.Exporter != nil {
		collected = make(chan struct{})
	}
	p.end = queue.NewEnding(p.verdict, collected)
	if s.Interval <= 0 {
		s.Interval = settings.DefaultMetricInterval
	}
	if s.Timeout <= 0 {
		s.Timeout = settings.DefaultMetricTimeout
	}
	opts := []sdkmetric.Option{sdkmetric.WithResource(s.Resource)}
	if s.Exporter != nil {
		p.sender = newSender(s, p.end, collected)
		p.sender.guard, callbacks.lost = callbacks, p.sender.missed
		opts = append(opts, sdkmetric.WithReader(ownReader{p.sender.reader, p.sender}))
	}
	for _, r := range p.others {
		opts = append(opts, sdkmetric.WithReader(r))
	}
	report.MergingResource(func() { p.Provider = &MeterProvider{sdkmetric.NewMeterProvider(opts...), callbacks} })
	if p.sender != nil {
		go p.sender.work(s.Interval)
	}
	return p
}

// ownReader is the pipeline's reader as the SDK sees it: the provider's ForceFlush
// reaches the exporter, and its Shutdown leaves the last collection to the pipeline's,
// which gives its result to every caller.
type ownReader struct {
	*sdkmetric.ManualReader
	sender *sender
}

func (r ownReader) ForceFlush(ctx context.Context) error { return r.sender.flush(ctx) }

func (ownReader) Shutdown(context.Context) error { return nil }

// ForceFlush collects, exports, and waits for the outcome, at most until ctx is done.
// The error names the endpoint and wraps a *[outcome.LossError] when points were lost since
// the last report. After Shutdown has begun it does nothing.
func (p *Pipeline) ForceFlush(ctx context.Context) error {
	var err error
	if p.sender != nil {
		err = p.sender.flush(ctx)
	}
	for _, r := range p.others {
		if f, ok := r.(interface{ ForceFlush(context.Context) error }); ok {
			err = errors.Join(err, f.ForceFlush(ctx))
		}
	}
	return err
}

// Shutdown collects a last time, exports that, shuts exporter and readers down and
// ends the goroutine. Every caller waits for the same work and gets its result: an
// error that names the endpoint and wraps a *[outcome.LossError] with the numbers of the whole
// life when any point was lost. A caller whose ctx is done earlier gets the numbers as
// they are when what is not exported yet is lost.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	callerCtx := ctx
	return p.end.Wait(ctx, func(ctx context.Context) error {
		var err error
		if p.sender != nil {
			err = p.sender.drain(ctx, callerCtx)
		}
		ctx, cancel := queue.Grace(ctx)
		defer cancel()
		return errors.Join(err, p.Provider.Shutdown(ctx))
	})
}

// Stats returns the numbers of the export; all are zero without an exporter.
func (p *Pipeline) Stats() Stats {
	if p.sender == nil {
		return Stats{}
	}
	return p.sender.snapshot(p.end.GivenUp())
}

func (p *Pipeline) verdict(timeUp error, final bool) error {
	var err error
	if p.sender != nil {
		err = p.sender.verdict(timeUp, final)
	}
	if err == nil {
		err = named(p.endpoint, fmt.Errorf("lens: the metric pipeline did not shut down in time: %w", timeUp))
	}
	return err
}

func named(endpoint string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lens: exporting metrics to %s: %w", endpoint, err)
}
