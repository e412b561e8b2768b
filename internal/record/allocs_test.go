//go:build !race

package record

// The race detector allocates on its own, so this file is left out with it.

import (
	"context"
	"strconv"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func TestOpenSpanTakesHalfTheSDKsMemory(t *testing.T) {
	ours, theirs := openBytes(ours(sdktrace.AlwaysSample()), 20_000), openBytes(theirs(t, sdktrace.AlwaysSample()), 20_000)
	limit := 0.5
	if strconv.IntSize == 32 {
		limit = 0.55 // slices and interfaces shrink by more than ids and times do
	}
	if ours > limit*theirs {
		t.Errorf("an open span takes %.0f bytes, the SDK's %.0f", ours, theirs)
	}
}

// TestAllocations holds the numbers of objects, which no machine changes.
func TestAllocations(t *testing.T) {
	recorded := ours(sdktrace.ParentBased(sdktrace.AlwaysSample())).(*Tracer)
	passed := ours(sdktrace.NeverSample()).(*Tracer)
	link := sites[7].on(recorded)
	for _, test := range []struct {
		name string
		want float64
		do   func()
	}{
		{"two attributes", 2, func() { sites[0].ours(recorded, context.Background()) }},
		{"eight attributes", 2, func() { sites[3].ours(recorded, context.Background()) }},
		{"five deep", 10, func() { sites[4].ours(recorded, context.Background()) }},
		{"an error", 4, func() { sites[5].ours(recorded, context.Background()) }},
		{"three events", 4, func() { sites[6].ours(recorded, context.Background()) }},
		{"a link", 10, func() { link(context.Background()) }},
		{"not sampled", 1, func() { sites[0].ours(passed, context.Background()) }},
	} {
		if got := testing.AllocsPerRun(1000, test.do); got > test.want {
			t.Errorf("%s: %v allocations, want %v", test.name, got, test.want)
		}
	}
}
