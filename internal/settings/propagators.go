package settings

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens/internal/web/w3c/propagator"
)

// Propagators are the formats in which a trace crosses to another process.
type Propagators struct {
	// Names are of tracecontext and baggage, each at most once; none at all
	// when propagation is off.
	Names []string

	// IsSet tells a choice from the default.
	IsSet bool
}

// ParsePropagators reads OTEL_PROPAGATORS, a comma-separated list in any case of
// tracecontext, baggage and none. Other names are left out with a warning, and so
// is none beside another name. When nothing is left, or nothing is set, it is the
// default: tracecontext and baggage.
func ParsePropagators(lookup Lookup) (Propagators, []Warning) {
	def := Propagators{Names: []string{"tracecontext", "baggage"}}
	v := first(lookup, "OTEL_PROPAGATORS")
	if !v.isSet() {
		return def, nil
	}
	p := Propagators{IsSet: true}
	none := false
	var unknown []string
	for name := range strings.SplitSeq(v.text, ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "":
		case "none":
			none = true
		case "tracecontext", "baggage":
			if !slices.Contains(p.Names, name) {
				p.Names = append(p.Names, name)
			}
		default:
			unknown = append(unknown, name)
		}
	}
	const want = "a list of tracecontext and baggage, or none"
	switch {
	case len(p.Names) == 0 && none && len(unknown) == 0:
		return p, nil
	case len(p.Names) == 0:
		return def, []Warning{v.warn(want, strings.Join(def.Names, ","))}
	case none || len(unknown) > 0:
		return p, []Warning{v.warn(want, strings.Join(p.Names, ","))}
	}
	return p, nil
}

// TextMap returns the propagator.
func (p Propagators) TextMap() propagation.TextMapPropagator {
	var list []propagation.TextMapPropagator
	for _, name := range p.Names {
		switch name {
		case "tracecontext":
			list = append(list, propagator.TraceContext{})
		case "baggage":
			list = append(list, propagation.Baggage{})
		}
	}
	return propagation.NewCompositeTextMapPropagator(list...)
}
