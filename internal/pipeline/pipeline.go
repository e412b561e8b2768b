package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe"
	"github.com/nemo-lens/lens/internal/pipeline/metricpipe"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// Plan is everything that a pipeline is built from; a signal that is off is nil.
type Plan struct {
	Traces     *TraceSettings
	Metrics    *metricpipe.Settings
	Logs       *logpipe.Settings
	LastErrors LastErrors
	// Groups returns how many span groups are on.
	Groups func() int
	Log    *report.Log
}

// Pipeline is what a set-up has built; a signal that is off is nil.
type Pipeline struct {
	Traces  *Traces
	Metrics *metricpipe.Pipeline
	Logs    *logpipe.Pipeline

	lastErrors LastErrors
	ended      chan struct{} // closed when the first caller has come to end the metrics
	endOnce    sync.Once

	groups      func() int
	groupsAtEnd atomic.Int64 // how many were on when the gate was closed, and one more; 0 before
	log         *report.Log
}

// New starts what the plan says. It cannot fail.
func New(plan Plan) *Pipeline {
	p := &Pipeline{lastErrors: plan.LastErrors, ended: make(chan struct{}), groups: plan.Groups, log: plan.Log}
	if plan.Metrics != nil {
		p.Metrics = metricpipe.New(*plan.Metrics)
	}
	if plan.Traces != nil {
		if p.Metrics != nil {
			plan.Traces.Exporter = timed(plan.Traces.Exporter, p.Metrics.Provider)
		}
		p.Traces = NewTraces(*plan.Traces)
	}
	if plan.Logs != nil {
		p.Logs = logpipe.New(*plan.Logs)
	}
	if p.Metrics != nil {
		p.reportHealth()
	}
	return p
}

// GateCloses keeps how many span groups are on for the last metrics, which are
// collected when none is any more.
func (p *Pipeline) GateCloses() { p.groupsAtEnd.Store(int64(p.groups()) + 1) }

// stopper flushes and shuts down one signal.
type stopper struct {
	name            settings.Signal
	flush, shutdown func(context.Context) error
}

// signals are those that are on.
func (p *Pipeline) signals() []stopper {
	var list []stopper
	if p.Traces != nil {
		list = append(list, stopper{settings.Traces, p.Traces.ForceFlush, p.Traces.Shutdown})
	}
	if p.Metrics != nil {
		list = append(list, stopper{settings.Metrics, p.Metrics.ForceFlush, p.Metrics.Shutdown})
	}
	if p.Logs != nil {
		list = append(list, stopper{settings.Logs, p.Logs.ForceFlush, p.Logs.Shutdown})
	}
	return list
}

// ForceFlush hands over what all signals have, and reports what was lost.
func (p *Pipeline) ForceFlush(ctx context.Context) error {
	return p.each(ctx, false, func(s stopper, ctx context.Context) error { return s.flush(ctx) })
}

// Shutdown ends all signals. It may be called again while it runs, and afterwards.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	return p.each(ctx, true, func(s stopper, ctx context.Context) error { return s.shutdown(ctx) })
}

// each does something with all signals side by side, every one with all the
// time there is, so that a receiver that does not answer costs the others
// nothing of theirs. The metrics wait for the spans that they count, for up to
// half of the time, when they are told to. As soon as one caller has come to
// end the metrics the others follow, because the end is given up soon after
// nobody waits for it.
func (p *Pipeline) each(ctx context.Context, spansFirst bool, do func(stopper, context.Context) error) error {
	signals := p.signals()
	errs := make([]error, len(signals))
	spansDone := make(chan struct{})
	var wg sync.WaitGroup
	for i, s := range signals {
		wg.Go(func() {
			if s.name == settings.Traces {
				defer close(spansDone)
			}
			if s.name == settings.Metrics && spansFirst && p.Traces != nil {
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

// LastErrors asks the exporters that know why their last attempt failed.
type LastErrors map[settings.Signal]func() error

// explain adds to an error that only says that the time was up why the exporter
// was still trying.
func (l LastErrors) explain(signal settings.Signal, err error) error {
	last := l[signal]
	if last == nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if why := last(); why != nil {
		return fmt.Errorf("%w; the last attempt: %w", err, why)
	}
	return err
}
