// Package sampler turns the rank decision of package strategy into a sampler
// for the OpenTelemetry SDK.
package sampler

import (
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/internal/identity/strategy"
)

// NewSampler composes the rank decision with inner. The decision is made once,
// here: a rank that [strategy.Keep] keeps leaves every
// decision to inner, so that OTEL_TRACES_SAMPLER and its parent rules keep
// their meaning; any other rank samples nothing at all, whatever the parent
// says, at the cost of the SDK's never-sample.
//
// The reference replaces the configured sampler instead. A nil inner is the
// SDK's default, parent-based always-on. The sampler is safe for concurrent
// use if inner is.
func NewSampler(rank int, rate float64, inner sdktrace.Sampler) sdktrace.Sampler {
	if inner == nil {
		inner = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	text := fmt.Sprintf("RankAwareSampler(rank=%d, rate=%s)", rank, resattr.FormatFloat(rate))
	if !strategy.Keep(rank, rate) {
		return sampler{Sampler: sdktrace.NeverSample(), description: text}
	}
	return sampler{Sampler: inner, description: text + "{" + inner.Description() + "}"}
}

// sampler is its inner sampler under another description.
type sampler struct {
	sdktrace.Sampler
	description string
}

func (s sampler) Description() string { return s.description }

// Unwrap tells the recorder that the inner sampler decides.
func (s sampler) Unwrap() sdktrace.Sampler { return s.Sampler }
