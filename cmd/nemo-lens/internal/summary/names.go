// Package summary computes from the spans of a run what people ask first: where
// the time went by name, which rank held up each step, what the critical path of
// a step or a trace was, and what became slower between two runs.
//
// All times are in nanoseconds. Everything is exact: no sampling, no sketches.
package summary

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// Name is all spans of one name.
type Name struct {
	Name   string  `json:"name"`
	Group  string  `json:"group"`
	Count  int     `json:"count"`
	Errors int     `json:"errors"`
	Open   int     `json:"open,omitempty"` // that had not ended; they count as if they had with the last sign of life
	Total  int64   `json:"total_ns"`
	Self   int64   `json:"self_ns"`
	Mean   float64 `json:"mean_ns"`
	P50    int64   `json:"p50_ns"`
	P95    int64   `json:"p95_ns"`
	Max    int64   `json:"max_ns"`
}

// Orders are the names of the orders that SortNames knows.
var Orders = []string{"self", "total", "count", "mean", "p50", "p95", "max", "name"}

// Names are the chosen spans by name, those with the most time of their own
// first. selected nil chooses all.
func Names(s *trace.Store, selected []bool) []Name {
	out := make([]Name, s.Names.Len())
	for i := range s.Len() {
		if selected != nil && !selected[i] {
			continue
		}
		span := s.At(i)
		n := &out[span.Name]
		if n.Count == 0 {
			n.Name, n.Group = s.Name(span), s.Group(span)
		}
		n.Count++
		n.Total += span.Duration
		n.Self += s.Self(i)
		if span.Error() {
			n.Errors++
		}
		if span.Open() {
			n.Open++
		}
	}
	// One name at a time, so that there is never more than one list of durations.
	first := make([]uint32, len(out)+1)
	for i := range out {
		first[i+1] = first[i] + uint32(out[i].Count)
	}
	durations := make([]int64, first[len(out)])
	at := slices.Clone(first)
	for i := range s.Len() {
		if selected == nil || selected[i] {
			span := s.At(i)
			durations[at[span.Name]] = span.Duration
			at[span.Name]++
		}
	}
	for i := range out {
		if n := &out[i]; n.Count > 0 {
			d := durations[first[i]:first[i+1]]
			slices.Sort(d)
			n.Mean = float64(n.Total) / float64(n.Count)
			n.P50, n.P95, n.Max = quantile(d, 0.5), quantile(d, 0.95), d[len(d)-1]
		}
	}
	out = slices.DeleteFunc(out, func(n Name) bool { return n.Count == 0 })
	_ = SortNames(out, "self")
	return out
}

// SortNames orders names by one of Orders, the largest first, or by name.
func SortNames(names []Name, order string) error {
	var key func(n *Name) float64
	switch order {
	case "self":
		key = func(n *Name) float64 { return float64(n.Self) }
	case "total":
		key = func(n *Name) float64 { return float64(n.Total) }
	case "count":
		key = func(n *Name) float64 { return float64(n.Count) }
	case "mean":
		key = func(n *Name) float64 { return n.Mean }
	case "p50":
		key = func(n *Name) float64 { return float64(n.P50) }
	case "p95":
		key = func(n *Name) float64 { return float64(n.P95) }
	case "max":
		key = func(n *Name) float64 { return float64(n.Max) }
	case "name":
		key = func(*Name) float64 { return 0 }
	default:
		return fmt.Errorf("%q is no order; want one of %s", order, strings.Join(Orders, ", "))
	}
	slices.SortStableFunc(names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

// quantile is the smallest value that at least the share q of sorted is not above.
func quantile(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[max(0, min(i, len(sorted)-1))]
}
