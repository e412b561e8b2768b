package record

import (
	"context"
	"reflect"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// rule says how to decide without the sampler, for those of the SDK that are in
// use everywhere: asking one means a copy of the attributes on the heap and
// another search for the parent.
type rule struct {
	followParent bool // if there is one
	otherwise    verdict
}

type verdict uint8

const (
	ask verdict = iota
	drop
	keep
)

func ruleOf(s sdktrace.Sampler) rule {
	for range 8 { // wrappers that only describe
		w, ok := s.(interface{ Unwrap() sdktrace.Sampler })
		if !ok {
			break
		}
		s = w.Unwrap()
	}
	known := map[verdict]sdktrace.Sampler{keep: sdktrace.AlwaysSample(), drop: sdktrace.NeverSample()}
	for v, k := range known {
		if reflect.DeepEqual(s, k) {
			return rule{otherwise: v}
		}
		if reflect.DeepEqual(s, sdktrace.ParentBased(k)) {
			return rule{followParent: true, otherwise: v}
		}
	}
	return rule{}
}

// decision is a sampler's result. For the rules it has neither attributes nor a
// state of its own.
type decision struct {
	record, sample bool
	asked          bool
	attrs          []attribute.KeyValue
	state          trace.TraceState
}

// byRule decides without the sampler, and reports whether it could.
func (p *Provider) byRule(from *parent) (sample, ok bool) {
	if p.rule.followParent && from.isValid() {
		return from.flags.IsSampled(), true
	}
	return p.rule.otherwise == keep, p.rule.otherwise != ask
}

// askSampler calls the sampler.
func (p *Provider) askSampler(ctx context.Context, from *parent, params sdktrace.SamplingParameters) (d decision) {
	d.asked = true
	defer func() {
		if r := recover(); r != nil {
			p.fault(SamplerFault, func() string { return "the sampler panicked: " + textOf(r) })
			sample := !from.isValid() || from.flags.IsSampled()
			d = decision{record: sample, sample: sample, state: from.state, asked: true}
		}
	}()
	params.ParentContext = ctx
	r := p.sampler.ShouldSample(params)
	return decision{
		asked:  true,
		sample: r.Decision == sdktrace.RecordAndSample,
		record: r.Decision == sdktrace.RecordAndSample || r.Decision == sdktrace.RecordOnly,
		attrs:  r.Attributes,
		state:  r.Tracestate,
	}
}
