//go:build !lens_noop

package lens

import (
	"context"
	"os"
	"reflect"

	"go.opentelemetry.io/otel"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/otelenv"
	"github.com/nemo-lens/lens/internal/w3c/propagator"
)

// theSwitch is the tracer provider that lens installs globally. It is one for
// all set-ups, so that it can be recognised, and taken back.
var theSwitch = liveProvider{installed: true}

// replaced is the tracer provider that theSwitch took the place of. Guarded by
// setupMu.
var replaced trace.TracerProvider

// installGlobals makes the OTel globals lens's and returns what undoes it. A
// provider or propagator that the program has installed stays, unless it was
// decided otherwise.
func installGlobals(decided *bool, p *pipeline) (restore func()) {
	var undo []func()
	install := func(current any) bool {
		if decided != nil {
			return *decided
		}
		return isDefault(current)
	}
	if before := otel.GetTracerProvider(); p.Pipeline != nil && (before == trace.TracerProvider(theSwitch) || install(before)) {
		if before != trace.TracerProvider(theSwitch) {
			replaced = before
		}
		otel.SetTracerProvider(theSwitch)
		undo = append(undo, func() {
			// Not while a later set-up, see WithAllowReinit, still needs it.
			if active.Load() == nil && otel.GetTracerProvider() == trace.TracerProvider(theSwitch) {
				otel.SetTracerProvider(replaced)
			}
		})
	} else if p.Pipeline != nil && decided == nil {
		log().Info("lens: the program's own tracer provider stays the global one; WithGlobalProvider(true) replaces it")
	}
	if before := otel.GetMeterProvider(); p.metrics != nil && install(before) {
		ours := p.metrics.Provider
		otel.SetMeterProvider(ours)
		undo = append(undo, func() {
			if otel.GetMeterProvider() == metric.MeterProvider(ours) {
				otel.SetMeterProvider(before)
			}
		})
	}
	if before := otel.GetLoggerProvider(); p.logs != nil && install(before) {
		ours := p.logs.Provider
		otel.SetLoggerProvider(ours)
		undo = append(undo, func() {
			if otel.GetLoggerProvider() == otellog.LoggerProvider(ours) {
				otel.SetLoggerProvider(before)
			}
		})
	}
	// Also with WithGlobalProvider(true) a propagator of the program is its own
	// choice of formats.
	if before := otel.GetTextMapPropagator(); isDefault(before) && (decided == nil || *decided) {
		propagators, warnings := otelenv.ParsePropagators(os.LookupEnv)
		warn(warnings)
		ours := &ourPropagator{propagators.TextMap()}
		otel.SetTextMapPropagator(ours)
		undo = append(undo, func() {
			if p, ok := otel.GetTextMapPropagator().(*ourPropagator); ok && p == ours {
				otel.SetTextMapPropagator(before)
			}
		})
	}
	return func() {
		for _, u := range undo {
			u()
		}
	}
}

// ourPropagator can be told from another one with the same formats.
type ourPropagator struct{ propagation.TextMapPropagator }

// isDefault reports whether a global is the one that OTel starts with.
func isDefault(v any) bool {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return false
	}
	pkg := t.Elem().PkgPath()
	return pkg == "go.opentelemetry.io/otel/internal/global"
}

// globalPropagator is the global one when the program or a set-up has installed one,
// else W3C trace context and baggage: OTel's own default carries nothing.
func globalPropagator() propagation.TextMapPropagator {
	if p := otel.GetTextMapPropagator(); !isDefault(p) {
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
