package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
)

var sink bool

// gate shows that the cost of a site depends neither on how many groups are on
// nor on how many goroutines ask.
func gate(r *run) {
	stop := setUpLens("default", lens.WithSpanExporter(discardExporter{}))
	defer stop()
	const hit, nearMiss lens.SpanGroup = "group_000", "group_00x"
	enable := func(n int) func() {
		groups := make([]lens.SpanGroup, n)
		for i := range groups {
			groups[i] = lens.SpanGroup(fmt.Sprintf("group_%03d", i))
		}
		return func() { lens.SetEnabledSpanGroups(groups...) }
	}
	ask := func(g lens.SpanGroup) func(int) {
		return func(n int) {
			found := false
			for range n {
				found = lens.IsSpanGroupEnabled(g)
			}
			if found && g != hit {
				sink = true
			}
		}
	}
	site := func(g lens.SpanGroup) func(int) {
		ctx := context.Background()
		return func(n int) {
			for i := range n {
				_, span := lens.ManagedSpan(ctx, g, "train.step", attribute.Int("dl.iteration", i), attribute.String("phase", "train"))
				lens.End(span, nil)
			}
		}
	}
	for _, op := range []struct {
		what string
		loop func(int)
	}{
		{"IsSpanGroupEnabled, group on", ask(hit)},
		{"IsSpanGroupEnabled, group off, name alike", ask(nearMiss)},
		{"span with 2 attributes, off", site(nearMiss)},
		{"span with 2 attributes, on", site(hit)},
	} {
		t := table{title: op.what + ": groups that are on"}
		for _, n := range []int{3, 8, 64, 256} {
			t.rows = append(t.rows, subject{name: fmt.Sprintf("%d groups", n), loop: op.loop, prepare: enable(n)})
		}
		results := r.measure(t)
		r.compare(op.what+": 256 groups / 3 groups", 0, results[3], results[0])
		t = table{title: op.what + ": goroutines"}
		for _, n := range []int{1, 2, 8, 64} {
			t.rows = append(t.rows, subject{name: fmt.Sprintf("%d goroutines", n), loop: op.loop, prepare: enable(64), goroutines: n})
		}
		results = r.measure(t)
		r.compare(op.what+": 64 goroutines / 2 goroutines", 0, results[3], results[1])
	}
}
