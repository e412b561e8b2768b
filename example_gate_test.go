//go:build !lens_noop

package lens_test

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
)

// The gate guards work that only a span needs.
func ExampleIsSpanGroupEnabled() {
	defer printSpans(lens.Step)()

	gradients := []float64{3, 4}
	_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
	if lens.IsSpanGroupEnabled(lens.Step) {
		span.SetAttributes(attribute.Float64("dl.grad_norm_squared", squared(gradients)))
	}
	lens.End(span, nil)

	fmt.Println("layers:", lens.IsSpanGroupEnabled("layer"))
	// Output:
	// layers: false
	// step dl.grad_norm_squared=25
}

func squared(vs []float64) (sum float64) {
	for _, v := range vs {
		sum += v * v
	}
	return sum
}

// More detail for a while, in a job that is running: what an operator's
// endpoint or signal handler would do.
func ExampleSetSpanGroupSpec() {
	h := setUp()
	defer shutDown(h)
	defer lens.SetEnabledSpanGroups()

	fmt.Println(lens.EnabledSpanGroups())
	fmt.Println(lens.SetSpanGroupSpec("default,step"), lens.EnabledSpanGroups())

	// A mistake changes nothing.
	err := lens.SetSpanGroupSpec("stpe")
	fmt.Println(errors.As(err, new(*lens.UnknownGroupError)), lens.EnabledSpanGroups())
	// Output:
	// checkpoint,evaluate,job
	// <nil> checkpoint,evaluate,job,step
	// true checkpoint,evaluate,job,step
}

// Exactly these groups for a while, whatever the environment says.
func ExampleSetEnabledSpanGroups() {
	defer printSpans(lens.Job)()

	before := lens.SetEnabledSpanGroups(lens.Evaluate)
	for _, group := range []lens.SpanGroup{lens.Evaluate, lens.Step} {
		_, span := lens.ManagedSpan(context.Background(), group, string(group))
		lens.End(span, nil)
	}
	lens.SetEnabledSpanGroups(before.Groups()...)
	fmt.Println("again on:", lens.EnabledSpanGroups())
	// Output:
	// again on: job
	// evaluate
}

// One spec is given to every process of a job, and each knows only the groups
// of the libraries that it has loaded. The others wait.
func ExamplePendingSpanGroups() {
	registry := new(lens.GroupRegistry)
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.Groups, cfg.SpanGroups = true, "none", registry, "step,decode"
	registry.Register(lens.MustGroupClass("trainer", []lens.SpanGroup{"step"}, nil))
	h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(quiet))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shutDown(h)
	fmt.Println("on:", lens.EnabledSpanGroups(), "waiting:", lens.PendingSpanGroups())

	registry.Register(lens.MustGroupClass("loader", []lens.SpanGroup{"read", "decode"}, nil))
	fmt.Println("on:", lens.EnabledSpanGroups(), "waiting:", lens.PendingSpanGroups())
	// Output:
	// on: step waiting: [decode]
	// on: decode,step waiting: []
}
