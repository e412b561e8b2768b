package globals

import (
	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/pipeline"
)

// All are the providers of a process. There is one of each for all set-ups, so that what
// was taken from it records into the set-up that is active.
type All struct {
	Tracers Tracers
	Meters  Meters
	Loggers Loggers
}

// Use makes p what metrics and logs are recorded into; nil stands for none.
func (a *All) Use(p *pipeline.Pipeline) {
	if p == nil || p.Metrics == nil {
		a.Meters.Use(nil)
	} else {
		a.Meters.Use(p.Metrics.Provider)
	}
	if p == nil || p.Logs == nil {
		a.Loggers.Use(nil)
	} else {
		a.Loggers.Use(p.Logs.Provider)
	}
}

// Of returns the providers of the signals that p has, for [Install].
func (a *All) Of(p *pipeline.Pipeline, propagator func() propagation.TextMapPropagator) Providers {
	ours := Providers{Propagator: propagator}
	if p.Traces != nil {
		ours.Tracers = a.Tracers
	}
	if p.Metrics != nil {
		ours.Meters = &a.Meters
	}
	if p.Logs != nil {
		ours.Loggers = &a.Loggers
	}
	return ours
}
