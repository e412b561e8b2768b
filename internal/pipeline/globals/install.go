package globals

import (
	"reflect"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Providers are what Install makes global. A nil one leaves that global as it is.
type Providers struct {
	Tracers trace.TracerProvider
	Meters  metric.MeterProvider
	Loggers log.LoggerProvider
	// Propagator is called when the global propagator is to be replaced.
	Propagator func() propagation.TextMapPropagator
}

// The globals, and what was there before. Install and Restore must not run at the same
// time.
var (
	tracers     = global[trace.TracerProvider]{get: otel.GetTracerProvider, set: otel.SetTracerProvider}
	meters      = global[metric.MeterProvider]{get: otel.GetMeterProvider, set: otel.SetMeterProvider}
	loggers     = global[log.LoggerProvider]{get: otel.GetLoggerProvider, set: otel.SetLoggerProvider}
	propagators = global[propagation.TextMapPropagator]{get: otel.GetTextMapPropagator, set: otel.SetTextMapPropagator}
)

// Install makes the providers global. Without a decision a provider that the application
// has installed stays; keptTracers reports that for the tracer provider. A propagator of
// the application always stays, because it is its choice of formats.
func Install(decision *bool, ours Providers) (keptTracers bool) {
	replace := func(current any) bool {
		if decision != nil {
			return *decision
		}
		return IsDefault(current)
	}
	if ours.Tracers != nil {
		keptTracers = !tracers.install(ours.Tracers, replace) && decision == nil
	}
	if ours.Meters != nil {
		meters.install(ours.Meters, replace)
	}
	if ours.Loggers != nil {
		loggers.install(ours.Loggers, replace)
	}
	if IsDefault(otel.GetTextMapPropagator()) && (decision == nil || *decision) {
		propagators.install(&propagator{ours.Propagator()}, IsDefault)
	}
	return keptTracers
}

// Restore gives back every global that is still the one that Install has set.
func Restore() {
	tracers.restore()
	meters.restore()
	loggers.restore()
	propagators.restore()
}

// propagator can be told from another one with the same formats.
type propagator struct{ propagation.TextMapPropagator }

// global is one of OpenTelemetry's globals.
type global[P comparable] struct {
	get            func() P
	set            func(P)
	ours, replaced P
}

func (g *global[P]) install(ours P, replace func(any) bool) bool {
	// Ours may be there already, for an earlier set-up that still runs.
	if before := g.get(); before != ours {
		if !replace(before) {
			return false
		}
		g.replaced = before
	}
	g.ours = ours
	g.set(ours)
	return true
}

func (g *global[P]) restore() {
	var none P
	if g.ours != none && g.get() == g.ours {
		g.set(g.replaced)
	}
	g.ours, g.replaced = none, none
}

// IsDefault reports whether a global is the placeholder that OpenTelemetry starts with.
func IsDefault(v any) bool {
	t := reflect.TypeOf(v)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
}
