//go:build !lens_noop

package lens

import (
	"os"
	"reflect"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/otelenv"
)

// theSwitch is the tracer provider that lens installs globally. It is one for
// all set-ups, so that it can be recognised, and taken back.
var theSwitch = liveProvider{installed: true}

// installGlobals makes the OTel globals lens's and returns what undoes it.
func installGlobals(decided *bool) (restore func()) {
	restoreErrors := log().Install()
	provider, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	install := isDefault(provider) || provider == trace.TracerProvider(theSwitch)
	if decided != nil {
		install = *decided
	} else if !install {
		log().Info("lens: the program's own tracer provider stays the global one; WithGlobalProvider(true) replaces it")
	}
	if !install {
		return restoreErrors
	}
	propagators, warnings := otelenv.ParsePropagators(os.LookupEnv)
	warn(warnings)
	otel.SetTracerProvider(theSwitch)
	ownPropagator := !isDefault(propagator)
	if !ownPropagator {
		otel.SetTextMapPropagator(propagators.TextMap())
	}
	return func() {
		restoreErrors()
		if otel.GetTracerProvider() == trace.TracerProvider(theSwitch) {
			otel.SetTracerProvider(provider)
		}
		if !ownPropagator {
			otel.SetTextMapPropagator(propagator)
		}
	}
}

// isDefault reports whether a global is the one that OTel starts with.
func isDefault(v any) bool {
	t := reflect.TypeOf(v)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
}
