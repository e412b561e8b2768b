//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"fmt"
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

	// groupsAtEnd is how many groups were on when the gate was closed for
	// shutdown, and one more; 0 before.
	groupsAtEnd atomic.Int64
}

// build starts what the plan says. It cannot fail.
func (p *plan) build() *pipeline {
	built := &pipeline{lastErrors: p.lastErrors}
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

// signals are those that are on, in the order in which they end: the metrics
// after the spans that they count.
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
	signals := p.signals()
	var errs []error
	for i, s := range signals {
		errs = append(errs, p.lastErrors.explain(s.name, withShare(ctx, len(signals)-i, s.flush)))
	}
	return errors.Join(errs...)
}

func (p *pipeline) shutdown(ctx context.Context) error {
	signals := p.signals()
	var errs []error
	for i, s := range signals {
		errs = append(errs, p.lastErrors.explain(s.name, withShare(ctx, len(signals)-i, s.shutdown)))
	}
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

// withShare gives f its part of the time that is left, so that a receiver that
// does not answer costs the other signals nothing of theirs; what f does not
// use is there for those after it.
func withShare(ctx context.Context, left int, f func(context.Context) error) error {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	return f(ctx)
}
