//go:build !lens_noop

package lens

import (
	"context"
	"os"
	"reflect"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/otelenv"
)

// switchProvider is the tracer provider that lens installs globally. Its
// tracers ask at every start which pipeline is set up, so that one that was
// taken before set-up, or outlives a shutdown, never records into a pipeline
// that has gone.
type switchProvider struct{ embedded.TracerProvider }

func (*switchProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return switchTracer{scope: name, opts: opts, installed: true}
}

var theSwitch = new(switchProvider)

type switchTracer struct {
	embedded.Tracer
	scope     string
	opts      []trace.TracerOption
	installed bool // got from the global provider
}

func (t switchTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	p := active.Load()
	switch {
	case p != nil && t.scope == scopeLens && len(t.opts) == 0:
		return p.lens.Start(ctx, name, opts...)
	case p != nil:
		return p.Provider.Tracer(t.scope, t.opts...).Start(ctx, name, opts...)
	case t.installed:
		return noop.NewTracerProvider().Tracer(t.scope).Start(ctx, name, opts...)
	}
	return otel.GetTracerProvider().Tracer(t.scope, t.opts...).Start(ctx, name, opts...)
}

// handleTracer is the tracer of one handle, which stops with it.
type handleTracer struct {
	embedded.Tracer
	h *TelemetryHandle
}

func (t handleTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if active.Load() != t.h.pipeline {
		return noop.NewTracerProvider().Tracer(scopeLens).Start(ctx, name, opts...)
	}
	return t.h.pipeline.lens.Start(ctx, name, opts...)
}

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
