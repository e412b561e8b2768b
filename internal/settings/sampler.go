package settings

import (
	"fmt"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// DefaultSampler is the sampler when none is set or the text is bad.
const DefaultSampler = "parentbased_always_on"

const samplerNames = "always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio"

// Sampler is a head sampler of the OpenTelemetry specification.
type Sampler struct {
	// Name is one of the six standard names.
	Name string

	// Ratio, from 0 to 1, belongs to the two samplers by trace id.
	Ratio float64

	// IsSet tells a sampler that was asked for from the default.
	IsSet bool
}

// ParseSampler reads OTEL_TRACES_SAMPLER, in any case, and
// OTEL_TRACES_SAMPLER_ARG. An unknown name and a ratio that is not a number from
// 0 to 1 give [DefaultSampler] and a warning. A ratio that is not given is 1, as
// specified.
func ParseSampler(lookup Lookup) (Sampler, []Warning) {
	def := Sampler{Name: DefaultSampler}
	v := first(lookup, "OTEL_TRACES_SAMPLER")
	arg := first(lookup, "OTEL_TRACES_SAMPLER_ARG")
	if !v.isSet() {
		if arg.isSet() {
			return def, []Warning{Warning(fmt.Sprintf("lens: %s=%s has no effect: OTEL_TRACES_SAMPLER is not set; want %s",
				arg.name, shown(arg.text), samplerNames))}
		}
		return def, nil
	}
	s := Sampler{Name: strings.ToLower(v.text), IsSet: true}
	switch s.Name {
	case "always_on", "always_off", "parentbased_always_on", "parentbased_always_off":
	case "traceidratio", "parentbased_traceidratio":
		s.Ratio = 1
		if arg.isSet() {
			var ok bool
			if s.Ratio, ok = ratio(arg.text); !ok {
				return def, []Warning{arg.warn("a ratio from 0 to 1, as in 0.25", "the sampler "+DefaultSampler)}
			}
		}
	default:
		return def, []Warning{v.warn(samplerNames, DefaultSampler)}
	}
	return s, nil
}

func ratio(text string) (float64, bool) {
	// No hexadecimal, no underscores, no words.
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && 0 <= f && f <= 1
}

// SDK returns the sampler. The zero Sampler is the default.
func (s Sampler) SDK() sdktrace.Sampler {
	name, parentBased := strings.CutPrefix(s.Name, "parentbased_")
	var root sdktrace.Sampler
	switch name {
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		root = sdktrace.TraceIDRatioBased(s.Ratio)
	case "always_on":
		root = sdktrace.AlwaysSample()
	default:
		root, parentBased = sdktrace.AlwaysSample(), true
	}
	if parentBased {
		return sdktrace.ParentBased(root)
	}
	return root
}

func (s Sampler) String() string {
	if strings.HasSuffix(s.Name, "traceidratio") {
		return s.Name + "=" + strconv.FormatFloat(s.Ratio, 'g', -1, 64)
	}
	if s.Name == "" {
		return DefaultSampler
	}
	return s.Name
}
