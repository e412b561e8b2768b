package summary

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// DefaultWait matches the names of spans in which a rank waits for others. All
// ranks leave a collective operation together, so that the steps of all ranks
// look alike: a rank that computes for long shows in the waiting of the rest.
const DefaultWait = `(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier|collective|communicat|\bwait|recv`

// Step is one training step on all ranks.
type Step struct {
	Run      string `json:"run,omitempty"`
	Step     int    `json:"step"`
	Start    int64  `json:"start_unix_ns"`
	Duration int64  `json:"duration_ns"` // from the first start to the last end
	Ranks    int    `json:"ranks"`

	// The rank that was busy longest, which is its time in the step without that
	// in spans of waiting; how much longer than the median of the others, which is
	// 0 with one rank; and the median time that the others waited.
	Slowest     string `json:"slowest"`
	SlowestRank int    `json:"slowest_rank"` // -1: unknown
	Busy        int64  `json:"busy_ns"`
	Lag         int64  `json:"lag_ns"`
	Waited      int64  `json:"others_waited_ns"`

	store   *trace.Store
	process uint32
	parts   []part
}

// part is a span that counts in a step: the outermost of a process, or one of
// waiting that is in no other.
type part struct {
	run     uint32
	step    int32
	process uint32
	index   int32
	wait    bool
}

// Steps are the steps in order. wait nil means DefaultWait.
func Steps(s *trace.Store, wait *regexp.Regexp) []Step {
	waits := waitNames(s, wait)
	runs := map[string]uint32{}
	runOf := make([]uint32, len(s.Processes))
	for i, p := range s.Processes {
		n, ok := runs[p.Run]
		if !ok {
			n = uint32(len(runs))
			runs[p.Run] = n
		}
		runOf[i] = n
	}
	// Counted first: a list that grows takes twice its memory for a moment.
	n := 0
	eachPart(s, waits, func(int, bool) { n++ })
	parts := make([]part, 0, n)
	eachPart(s, waits, func(i int, wait bool) {
		span := s.At(i)
		parts = append(parts, part{runOf[span.Process], span.Step, span.Process, int32(i), wait})
	})
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.step, b.step), cmp.Compare(a.process, b.process), cmp.Compare(a.index, b.index))
	})
	labels := s.Labels()
	var out []Step
	for from := 0; from < len(parts); {
		to := from + 1
		for to < len(parts) && parts[to].run == parts[from].run && parts[to].step == parts[from].step {
			to++
		}
		out = append(out, step(s, labels, parts[from:to:to]))
		from = to
	}
	return out
}

// eachPart calls visit for each span that counts in a step; twice for one that is
// both outermost and waiting.
func eachPart(s *trace.Store, waits []bool, visit func(i int, wait bool)) {
	for i := range s.Len() {
		span := s.At(i)
		if span.Step == trace.None {
			continue
		}
		wait, outermost := waits[span.Name], true
		for above := span.Parent; above != trace.None; {
			parent := s.At(int(above))
			if parent.Step != span.Step || parent.Process != span.Process {
				break
			}
			outermost = false
			wait = wait && !waits[parent.Name]
			if !wait {
				break
			}
			above = parent.Parent
		}
		if outermost {
			visit(i, false)
		}
		if wait {
			visit(i, true)
		}
	}
}

func waitNames(s *trace.Store, wait *regexp.Regexp) []bool {
	if wait == nil {
		wait = regexp.MustCompile(DefaultWait)
	}
	out := make([]bool, s.Names.Len())
	for i, name := range s.Names.Texts() {
		out[i] = wait.MatchString(name)
	}
	return out
}

// step takes the parts of one step, ordered by process.
func step(s *trace.Store, labels []string, parts []part) Step {
	type total struct {
		process      uint32
		busy, waited int64
	}
	out := Step{Run: s.Processes[parts[0].process].Run, Step: int(parts[0].step), store: s, parts: parts}
	var end int64
	var totals []total
	for i, p := range parts {
		span := s.At(int(p.index))
		if i == 0 || span.Start < out.Start {
			out.Start = span.Start
		}
		end = max(end, span.End())
		if n := len(totals); n == 0 || totals[n-1].process != p.process {
			totals = append(totals, total{process: p.process})
		}
		t := &totals[len(totals)-1]
		if p.wait {
			t.waited += span.Duration
			t.busy -= span.Duration
		} else {
			t.busy += span.Duration
		}
	}
	out.Duration, out.Ranks = end-out.Start, len(totals)
	worst := slices.MaxFunc(totals, func(a, b total) int { return cmp.Compare(a.busy, b.busy) })
	out.process, out.Slowest, out.SlowestRank, out.Busy = worst.process, labels[worst.process], s.Processes[worst.process].Rank, worst.busy
	var busy, waited []int64
	for _, t := range totals {
		if t.process != worst.process {
			busy, waited = append(busy, t.busy), append(waited, t.waited)
		}
	}
	if len(busy) > 0 {
		slices.Sort(busy)
		slices.Sort(waited)
		out.Lag, out.Waited = worst.busy-quantile(busy, 0.5), quantile(waited, 0.5)
	}
	return out
}

// Laggard is how often a rank was the slowest.
type Laggard struct {
	Label string `json:"label"`
	Rank  int    `json:"rank"`
	Steps int    `json:"steps"`
	Lag   int64  `json:"lag_ns"` // in all these steps
}

// Laggards are the ranks that were slowest in any of the steps that at least two
// ranks took part in, the most frequent first.
func Laggards(steps []Step) []Laggard {
	at := map[string]int{}
	var out []Laggard
	for _, st := range steps {
		if st.Ranks < 2 {
			continue
		}
		i, ok := at[st.Slowest]
		if !ok {
			i = len(out)
			at[st.Slowest] = i
			out = append(out, Laggard{Label: st.Slowest, Rank: st.SlowestRank})
		}
		out[i].Steps++
		out[i].Lag += st.Lag
	}
	slices.SortFunc(out, func(a, b Laggard) int {
		return cmp.Or(cmp.Compare(b.Steps, a.Steps), cmp.Compare(b.Lag, a.Lag), cmp.Compare(a.Label, b.Label))
	})
	return out
}
