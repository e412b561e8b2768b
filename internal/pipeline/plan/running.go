package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/record/stall"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// Running is what a plan has built: the signals, what looks at the open spans, and what
// has to be closed at the end.
type Running struct {
	*pipeline.Pipeline
	FileOnly bool // the spans end in the flight recorder, nothing is exported

	flight     *flight.Recorder // nil when it is off, as are the others
	stall      *stall.Watch
	log        *report.Log
	restore    func() // gives OpenTelemetry's error handler back
	close      func() error
	propagator func() propagation.TextMapPropagator
	closeErr   error // written once, under files
	files      sync.Once
}

// Build starts what was planned. It cannot fail, and returns nil when nothing is to be
// recorded.
func (p *Plan) Build() *Running {
	r := &Running{log: p.Log, restore: p.restore, close: p.Close, propagator: p.propagator, FileOnly: !p.Exports}
	if p.Exports && !p.HasSignals() {
		p.restore()
		return nil
	}
	if p.traces != nil {
		if r.flight = p.openFlight(); r.flight != nil {
			p.traces.Watcher = r.flight
		}
	}
	if r.FileOnly && r.flight == nil {
		return nil
	}
	r.Pipeline = pipeline.New(pipeline.Plan{
		Traces: p.traces, Metrics: p.metrics, Logs: p.logs, LastErrors: p.lastErrors,
		Groups: p.Groups, Log: p.Log,
	})
	r.stall = p.watchStalls(r.Pipeline)
	if p.RuntimeMetrics && r.Metrics != nil {
		if err := runtime.Start(runtime.WithMeterProvider(r.Metrics.Provider)); err != nil {
			p.Log.Warn("runtime metrics", fmt.Sprintf("the metrics of the Go runtime are not reported: %v", err))
		}
	}
	return r
}

// InstallGlobals makes the providers OpenTelemetry's global ones, for the signals that are
// on. What the application has installed stays, unless decision says otherwise.
func (r *Running) InstallGlobals(decision *bool, ours *globals.All) {
	if globals.Install(decision, ours.Of(r.Pipeline, r.propagator)) {
		r.log.Info("lens: the application's own tracer provider stays the global one; WithGlobalProvider(true) replaces it")
	}
}

// Detach gives OpenTelemetry's error handler back. It may be called several times.
func (r *Running) Detach() { r.restore() }

// Shutdown ends everything. It may be called again while it runs, and afterwards.
func (r *Running) Shutdown(ctx context.Context) error {
	r.stall.Stop(ctx) // before the spans are ended, which would be found
	err := r.Pipeline.Shutdown(ctx)
	r.log.Flush()
	if ctx.Err() != nil {
		// Something may still be writing to the file, or hang in it.
		return err
	}
	r.files.Do(func() {
		r.flight.Close() // which marks it as that of a process that ended in order
		r.closeErr, _ = outcome.Call(ctx, "closing the file of the console exporter", r.close)
	})
	return errors.Join(err, r.closeErr)
}

func (p *Plan) propagator() propagation.TextMapPropagator {
	propagators, warnings := settings.ParsePropagators(p.Env)
	p.warn(warnings)
	return propagators.TextMap()
}
