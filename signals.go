//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/logpipe"
	"github.com/nemo-lens/lens/internal/metricpipe"
	"github.com/nemo-lens/lens/internal/otelenv"
	"github.com/nemo-lens/lens/internal/provider"
)

// pipeline is what a set-up has built; a signal that is off is nil.
type pipeline struct {
	*provider.Pipeline
	metrics *metricpipe.Pipeline
	logs    *logpipe.Pipeline

	lens, helpers trace.Tracer // never nil

	lastErrors lastErrors
	ended      chan struct{} // closed when the first caller has come to end the metrics
	endOnce    sync.Once

	// groupsAtEnd is how many groups were on when the gate was closed for
	// shutdown, and one more; 0 before.
	groupsAtEnd atomic.Int64
}

// build starts what the plan says. It cannot fail.
func (p *plan) build() *pipeline {
	built := &pipeline{lastErrors: p.lastErrors, ended: make(chan struct{})}
	if p.metrics != nil {
		built.metrics = metricpipe.New(*p.metrics)
	}
	if p.traces != nil {
		if built.metrics != nil {
			p.traces.Exporter = timed(p.traces.Exporter, built.metrics.Provider)
		}
		built.Pipeline = provider.New(*p.traces)
		built.lens, built.helpers = built.Provider.Tracer(scopeLens), built.Provider.Tracer(scopeHelpers)
	} else {
		built.lens, built.helpers = noop.Tracer{}, noop.Tracer{}
	}
	if p.logs != nil {
		built.logs = logpipe.New(*p.logs)
	}
	if built.metrics != nil {
		built.reportHealth()
	}
	return built
}

// ending is one of the pipelines, by what can be done with it.
type ending struct {
	name            otelenv.Signal
	flush, shutdown func(context.Context) error
}

// signals are those that are on.
func (p *pipeline) signals() []ending {
	var list []ending
	if p.Pipeline != nil {
		list = append(list, ending{otelenv.Traces, p.Pipeline.ForceFlush, p.Pipeline.Shutdown})
	}
	if p.metrics != nil {
		list = append(list, ending{otelenv.Metrics, p.metrics.ForceFlush, p.metrics.Shutdown})
	}
	if p.logs != nil {
		list = append(list, ending{otelenv.Logs, p.logs.ForceFlush, p.logs.Shutdown})
	}
	return list
}

func (p *pipeline) forceFlush(ctx context.Context) error {
	return p.each(ctx, false, func(s ending, ctx context.Context) error { return s.flush(ctx) })
}

// shutdown may be called again while it runs, and afterwards.
func (p *pipeline) shutdown(ctx context.Context) error {
	return p.each(ctx, true, func(s ending, ctx context.Context) error { return s.shutdown(ctx) })
}

// each does something with all signals side by side, every one with all the
// time there is, so that a receiver that does not answer costs the others
// nothing of theirs. The metrics wait for the spans that they count, for up to
// half of the time, when they are told to. As soon as one caller has come to
// end the metrics the others follow, because the end is given up soon after
// nobody waits for it.
func (p *pipeline) each(ctx context.Context, spansFirst bool, do func(ending, context.Context) error) error {
	signals := p.signals()
	errs := make([]error, len(signals))
	spansDone := make(chan struct{})
	var wg sync.WaitGroup
	for i, s := range signals {
		wg.Go(func() {
			if s.name == otelenv.Traces {
				defer close(spansDone)
			}
			if s.name == otelenv.Metrics && spansFirst && p.Pipeline != nil {
				wait := ctx
				if deadline, ok := ctx.Deadline(); ok {
					var cancel context.CancelFunc
					wait, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
					defer cancel()
				}
				select {
				case <-spansDone:
				case <-wait.Done():
				case <-p.ended:
				}
				p.endOnce.Do(func() { close(p.ended) })
			}
			errs[i] = p.lastErrors.explain(s.name, do(s, ctx))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// lastErrors asks the exporters that know why their last attempt failed.
type lastErrors map[otelenv.Signal]func() error

// explain adds to an error that only says that the time was up why the exporter
// was still trying.
func (l lastErrors) explain(signal otelenv.Signal, err error) error {
	last := l[signal]
	if last == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if why := last(); why != nil {
		return fmt.Errorf("%w; the last attempt: %w", err, why)
	}
	return err
}
