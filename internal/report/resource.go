package report

import (
	"errors"
	"net/url"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/resource"
)

// merging counts the calls of MergingResource that are under way.
var merging atomic.Int64

// MergingResource runs build, which makes a provider of OpenTelemetry's. That reads
// OTEL_RESOURCE_ATTRIBUTES again, beneath the resource that it is given, and what it
// finds wrong there has been logged by then.
func MergingResource(build func()) {
	merging.Add(1)
	defer merging.Add(-1)
	build()
}

func aboutResource(err error) bool {
	var escape url.EscapeError
	return merging.Load() > 0 && (errors.Is(err, resource.ErrPartialResource) || errors.As(err, &escape))
}
