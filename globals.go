//go:build !lens_noop

package lens

import (
	"os"

	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/globals"
	"github.com/nemo-lens/lens/internal/otelenv"
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
func publish(p *pipeline) {
	active.Store(p)
	if p == nil || p.metrics == nil {
		globalMeters.Use(nil)
	} else {
		globalMeters.Use(p.metrics.Provider)
	}
	if p == nil || p.logs == nil {
		globalLoggers.Use(nil)
	} else {
		globalLoggers.Use(p.logs.Provider)
	}
}

// installGlobals makes lens's providers OpenTelemetry's global ones, for the signals that
// are on. What the application has installed stays, unless decision says otherwise.
func installGlobals(decision *bool, p *pipeline) {
	ours := globals.Providers{Propagator: func() propagation.TextMapPropagator {
		propagators, warnings := otelenv.ParsePropagators(os.LookupEnv)
		warn(warnings)
		return propagators.TextMap()
	}}
	if p.Pipeline != nil {
		ours.Tracers = globalTracers
	}
	if p.metrics != nil {
		ours.Meters = globalMeters
	}
	if p.logs != nil {
		ours.Loggers = globalLoggers
	}
	if globals.Install(decision, ours) {
		log().Info("lens: the program's own tracer provider stays the global one; WithGlobalProvider(true) replaces it")
	}
}
