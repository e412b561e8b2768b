package summary

import (
	"cmp"
	"math"
	"slices"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// Spread is how the durations of one run lie.
type Spread struct {
	Count int   `json:"count"`
	P25   int64 `json:"p25_ns"`
	P50   int64 `json:"p50_ns"`
	P75   int64 `json:"p75_ns"`
	Total int64 `json:"total_ns"`
	// Independent is how many of the spans count for the noise: ranks that work
	// together are slow together, so that it is the count of one rank.
	Independent int `json:"independent"`
}

// Change is one name, or all steps, in two runs.
type Change struct {
	Name   string  `json:"name"`
	Before Spread  `json:"before"`
	After  Spread  `json:"after"`
	Delta  int64   `json:"delta_ns"` // of the medians
	Ratio  float64 `json:"ratio"`    // of the medians; 0 when there is none
	// Noise is how far the medians of two runs of the same speed may be apart: three
	// standard errors, estimated from the quartiles.
	Noise int64 `json:"noise_ns"`
	// Verdict is slower, faster or same; or new, or gone.
	Verdict string `json:"verdict"`
}

// StepChange is one step in two runs.
type StepChange struct {
	Step    int     `json:"step"`
	Before  int64   `json:"before_ns"`
	After   int64   `json:"after_ns"`
	Delta   int64   `json:"delta_ns"`
	Ratio   float64 `json:"ratio"`
	Slowest string  `json:"slowest"` // in the later run
}

// Comparison is a run beside an earlier one.
type Comparison struct {
	Names []Change     `json:"names"`           // what became slower comes first
	Steps *Change      `json:"steps,omitempty"` // the durations of all steps; nil when a run has none
	Each  []StepChange `json:"each_step"`       // steps that both have, by how much slower they became
}

// Compare compares the chosen spans of two runs.
func Compare(before, after *trace.Store, selectedBefore, selectedAfter []bool, stepsBefore, stepsAfter []Step) Comparison {
	var out Comparison
	a, b := durations(before, selectedBefore), durations(after, selectedAfter)
	for name, d := range a {
		out.Names = append(out.Names, change(name, d, b[name]))
	}
	for name, d := range b {
		if _, ok := a[name]; !ok {
			out.Names = append(out.Names, change(name, sample{}, d))
		}
	}
	slices.SortFunc(out.Names, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a.Verdict), rank(b.Verdict)), cmp.Compare(b.cost(), a.cost()), cmp.Compare(a.Name, b.Name))
	})
	earlier := map[int]Step{}
	x, y := sample{ranks: 1}, sample{ranks: 1}
	for _, s := range stepsBefore {
		earlier[s.Step] = s
		x.list = append(x.list, s.Duration)
	}
	for _, s := range stepsAfter {
		y.list = append(y.list, s.Duration)
		if e, ok := earlier[s.Step]; ok {
			out.Each = append(out.Each, StepChange{
				Step: s.Step, Before: e.Duration, After: s.Duration, Delta: s.Duration - e.Duration,
				Ratio: ratio(e.Duration, s.Duration), Slowest: s.Slowest,
			})
		}
	}
	slices.SortStableFunc(out.Each, func(a, b StepChange) int { return cmp.Compare(b.Delta, a.Delta) })
	if len(x.list) > 0 && len(y.list) > 0 {
		c := change("step", x, y)
		out.Steps = &c
	}
	return out
}

// sample is the durations of some spans of a number of ranks.
type sample struct {
	list  []int64
	ranks int
}

func durations(s *trace.Store, selected []bool) map[string]sample {
	byName := make([]sample, s.Names.Len())
	last := make([]uint32, s.Names.Len()) // the process seen last, and one
	seen := map[[2]uint32]bool{}
	for i := range s.Len() {
		if selected != nil && !selected[i] {
			continue
		}
		span := s.At(i)
		n := &byName[span.Name]
		n.list = append(n.list, span.Duration)
		if last[span.Name] != span.Process+1 {
			last[span.Name] = span.Process + 1
			if key := [2]uint32{span.Name, span.Process}; !seen[key] {
				seen[key] = true
				n.ranks++
			}
		}
	}
	out := map[string]sample{}
	for i, d := range byName {
		if len(d.list) > 0 {
			out[s.Names.Text(uint32(i))] = d
		}
	}
	return out
}

func change(name string, before, after sample) Change {
	c := Change{Name: name, Before: spread(before), After: spread(after), Verdict: "same"}
	switch {
	case len(before.list) == 0:
		c.Verdict = "new"
		return c
	case len(after.list) == 0:
		c.Verdict = "gone"
		return c
	}
	c.Delta = c.After.P50 - c.Before.P50
	c.Ratio = ratio(c.Before.P50, c.After.P50)
	c.Noise = int64(3 * math.Hypot(medianError(c.Before), medianError(c.After)))
	// Below one in a hundred nobody cares, however certain it is.
	matters := math.Abs(float64(c.Delta)) > 0.01*float64(c.Before.P50)
	// The quartiles of a handful of spans say nothing of the spread.
	if min(c.Before.Independent, c.After.Independent) < 4 {
		c.Noise = 0
		matters = matters && math.Abs(float64(c.Delta)) > 0.2*float64(c.Before.P50)
	}
	switch {
	case !matters || max(c.Delta, -c.Delta) <= c.Noise:
	case c.Delta > 0:
		c.Verdict = "slower"
	default:
		c.Verdict = "faster"
	}
	return c
}

// medianError is the standard error of a median, from the distance of the
// quartiles as in a notched box plot.
func medianError(s Spread) float64 {
	return 1.2533 * float64(s.P75-s.P25) / 1.349 / math.Sqrt(float64(s.Independent))
}

func spread(of sample) Spread {
	d := of.list
	s := Spread{Count: len(d), Independent: (len(d) + of.ranks - 1) / max(of.ranks, 1)}
	slices.Sort(d)
	for _, x := range d {
		s.Total += x
	}
	s.P25, s.P50, s.P75 = quantile(d, 0.25), quantile(d, 0.5), quantile(d, 0.75)
	return s
}

func ratio(before, after int64) float64 {
	if before == 0 {
		return 0
	}
	return float64(after) / float64(before)
}

// cost is what the change means for a run: the more often a span occurs, the more.
func (c *Change) cost() int64 {
	switch c.Verdict {
	case "new", "gone":
		return c.After.Total + c.Before.Total
	}
	return c.Delta * int64(c.After.Count)
}

func rank(verdict string) int {
	return slices.Index([]string{"slower", "new", "same", "gone", "faster"}, verdict)
}
