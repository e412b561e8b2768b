//go:build !lens_noop

package lens

import (
	"context"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/settings"
	"github.com/nemo-lens/lens/internal/web/w3c/propagator"
)

// The providers that lens installs globally. Each is one for all set-ups, so that what
// was taken from it records into the set-up that is active.
var (
	globalTracers = liveProvider{installed: true}
	globalMeters  = new(globals.Meters)
	globalLoggers = new(globals.Loggers)
)

// publish makes p the pipeline that everything records into; nil stands for none.
// Guarded by setupMu.
func publish(p *pipeline.Pipeline) {
	active.Store(p)
	if p == nil || p.Metrics == nil {
		globalMeters.Use(nil)
	} else {
		globalMeters.Use(p.Metrics.Provider)
	}
	if p == nil || p.Logs == nil {
		globalLoggers.Use(nil)
	} else {
		globalLoggers.Use(p.Logs.Provider)
	}
}

// installGlobals makes lens's providers OpenTelemetry's global ones, for the signals that
// are on. What the application has installed stays, unless decision says otherwise.
func installGlobals(decision *bool, p *pipeline.Pipeline) {
	ours := globals.Providers{Propagator: func() propagation.TextMapPropagator {
		propagators, warnings := settings.ParsePropagators(os.LookupEnv)
		warn(warnings)
		return propagators.TextMap()
	}}
	if p.Traces != nil {
		ours.Tracers = globalTracers
	}
	if p.Metrics != nil {
		ours.Meters = globalMeters
	}
	if p.Logs != nil {
		ours.Loggers = globalLoggers
	}
	if globals.Install(decision, ours) {
		log().Info("lens: the program's own tracer provider stays the global one; WithGlobalProvider(true) replaces it")
	}
}

// globalPropagator is the global one when the application or a set-up has installed one,
// else W3C trace context and baggage: OTel's own default carries nothing.
func globalPropagator() propagation.TextMapPropagator {
	if p := otel.GetTextMapPropagator(); !globals.IsDefault(p) {
		return p
	}
	return propagator.W3C
}

func inject(ctx context.Context, carrier map[string]string) {
	globalPropagator().Inject(ctx, propagation.MapCarrier(carrier))
}

func extract(ctx context.Context, carrier map[string]string) context.Context {
	return globalPropagator().Extract(ctx, propagation.MapCarrier(carrier))
}
