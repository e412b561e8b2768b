package summary

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen/store"
)

var run = tracegen.Run{ID: "a", Ranks: 4, Steps: 20, Micro: 2, SlowRank: 2, Seed: 5, Start: 1_700_000_000e9, Batch: 16}

func load(t testing.TB, r tracegen.Run) *trace.Store {
	t.Helper()
	s, err := store.Load(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNamesAgreeWithCountingOneByOne(t *testing.T) {
	s := load(t, run)
	selected := make([]bool, s.Len())
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range selected {
		selected[i] = rng.IntN(3) > 0
	}
	for _, chosen := range [][]bool{nil, selected} {
		for _, got := range Names(s, chosen) {
			var d []int64
			want := Name{Name: got.Name, Group: got.Name[strings.IndexByte(got.Name, '.')+1:]}
			for i := range s.Len() {
				span := s.At(i)
				if s.Name(span) != got.Name || chosen != nil && !chosen[i] {
					continue
				}
				want.Count++
				want.Total += span.Duration
				d = append(d, span.Duration)
				want.Self += uncovered(s, i)
			}
			slices.Sort(d)
			want.Mean = float64(want.Total) / float64(want.Count)
			want.P50, want.P95, want.Max = d[(len(d)+1)/2-1], d[(len(d)*95+99)/100-1], d[len(d)-1]
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
	}
}

// uncovered is the own time of a span, from the points at which children begin and end.
func uncovered(s *trace.Store, i int) (self int64) {
	span := s.At(i)
	points := []int64{span.Start, span.End()}
	for _, c := range s.Children(i) {
		child := s.At(int(c))
		points = append(points, min(max(child.Start, span.Start), span.End()), min(max(child.End(), span.Start), span.End()))
	}
	slices.Sort(points)
	for k := range len(points) - 1 {
		if !slices.ContainsFunc(s.Children(i), func(c uint32) bool {
			child := s.At(int(c))
			return child.Start <= points[k] && child.End() >= points[k+1]
		}) {
			self += points[k+1] - points[k]
		}
	}
	return self
}

func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		of   []int64
		q    float64
		want int64
	}{
		{nil, 0.5, 0}, {[]int64{7}, 0.5, 7}, {[]int64{7}, 0.95, 7}, {[]int64{1, 2}, 0.5, 1}, {[]int64{1, 2, 3}, 0.5, 2},
		{[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 0.95, 19},
	} {
		if got := quantile(c.of, c.q); got != c.want {
			t.Errorf("quantile(%v, %v) is %d, want %d", c.of, c.q, got, c.want)
		}
	}
}

func TestOrders(t *testing.T) {
	names := []Name{{Name: "b", Count: 1, Self: 5}, {Name: "a", Count: 3, Self: 5}, {Name: "c", Count: 2, Self: 9}}
	for order, want := range map[string]string{"self": "cab", "count": "acb", "name": "abc", "max": "abc"} {
		if err := SortNames(names, order); err != nil || names[0].Name+names[1].Name+names[2].Name != want {
			t.Errorf("by %s: %v, %v", order, names, err)
		}
	}
	if err := SortNames(names, "size"); err == nil {
		t.Error("an unknown order is no error")
	}
}

// TestTheSlowestRankIsTheOneThatComputedLongest compares with what the run was
// made from: rank 2 computes, the others wait.
func TestTheSlowestRankIsTheOneThatComputedLongest(t *testing.T) {
	s := load(t, run)
	steps := Steps(s, nil)
	if len(steps) != run.Steps {
		t.Fatalf("%d steps", len(steps))
	}
	for i, st := range steps {
		// All ranks are in a step for the same time.
		forward := map[int]int64{}
		for k := range s.Len() {
			if span := s.At(k); s.Name(span) == "train.forward_backward" && int(span.Step) == st.Step {
				forward[s.ProcessOf(span).Rank] = span.Duration
			}
		}
		var others []int64
		for rank, d := range forward {
			if rank != 2 {
				others = append(others, d)
			}
		}
		slices.Sort(others)
		if st.Step != i+1 || st.Ranks != 4 || st.SlowestRank != 2 || st.Slowest != "rank 2" || st.Lag != forward[2]-others[1] || st.Busy != forward[2]+1e6 ||
			st.Duration != forward[2]+2e6 || st.Waited != forward[2]+1e6-others[1] {
			t.Errorf("step %d: %+v; computed %v", i+1, st, forward)
		}
	}
	laggards := Laggards(steps)
	if len(laggards) != 1 || laggards[0].Label != "rank 2" || laggards[0].Steps != 20 {
		t.Errorf("laggards %+v", laggards)
	}
	// If the all-reduce were not waiting, all ranks would be equally busy.
	for _, st := range Steps(s, noWait) {
		if st.Lag != 0 {
			t.Errorf("step %d has a lag of %d with nothing to wait for", st.Step, st.Lag)
		}
	}
}

// TestTheCriticalPathOfAStepGoesThroughTheSlowRank starts wherever it likes, and
// must come to rank 2 through the all-reduce.
func TestTheCriticalPathOfAStepGoesThroughTheSlowRank(t *testing.T) {
	s := load(t, run)
	for _, st := range Steps(s, nil) {
		path := st.Path(nil)
		var total, at int64
		for i, seg := range path {
			if i > 0 && seg.Start != at {
				t.Fatalf("step %d: a gap before %+v", st.Step, seg)
			}
			at = seg.Start + seg.Time
			total += seg.Time
		}
		if total != st.Duration {
			t.Errorf("step %d takes %d and its path %d", st.Step, st.Duration, total)
		}
		for _, p := range Parts(path) {
			if p.Name == "train.microbatch" && p.Process != "rank 2" {
				t.Errorf("step %d: the path goes through %+v", st.Step, p)
			}
		}
	}
}

// TestTheCriticalPathOfATrace is the one of a tree small enough to follow by hand.
func TestTheCriticalPathOfATrace(t *testing.T) {
	s := tree(t, "root,,0,100", "a,root,10,40", "b,root,30,80", "c,root,85,95", "d,c,86,90")
	var got []string
	for _, seg := range TracePath(s, int(s.Roots()[0])) {
		got = append(got, seg.Name)
		if seg.Time <= 0 {
			t.Errorf("%+v", seg)
		}
	}
	// a overlaps b and ends inside it, so that b did not wait for it.
	if want := "root b root c d c root"; strings.Join(got, " ") != want {
		t.Errorf("the path is %s, want %s", strings.Join(got, " "), want)
	}
}

func TestCompareTellsSlowerFromNoise(t *testing.T) {
	before := load(t, run)
	same, slower := run, run
	same.Seed, slower.Seed, slower.Factor = 77, 78, 1.3
	verdicts := func(after *trace.Store) map[string]string {
		out := map[string]string{}
		c := Compare(before, after, nil, nil, Steps(before, nil), Steps(after, nil))
		for _, n := range c.Names {
			out[n.Name] = n.Verdict
		}
		out["steps"] = c.Steps.Verdict
		if len(c.Each) != run.Steps {
			t.Errorf("%d steps compared", len(c.Each))
		}
		return out
	}
	got := verdicts(load(t, same))
	for _, name := range []string{"train.forward_backward", "train.step", "train.optimizer", "train.job", "steps"} {
		if got[name] != "same" {
			t.Errorf("the same program with other noise: %s is %s", name, got[name])
		}
	}
	got = verdicts(load(t, slower))
	for name, want := range map[string]string{"train.forward_backward": "slower", "train.microbatch": "slower", "train.step": "slower", "train.optimizer": "same", "train.job": "slower", "steps": "slower"} {
		if got[name] != want {
			t.Errorf("a slower program: %s is %s, want %s", name, got[name], want)
		}
	}
	c := Compare(load(t, slower), before, nil, nil, nil, nil)
	for _, n := range c.Names {
		if n.Name == "train.step" && n.Verdict != "faster" {
			t.Errorf("the other way round: %+v", n)
		}
	}
	c = Compare(before, trace.NewStore(false), nil, nil, nil, nil)
	for _, n := range c.Names {
		if n.Verdict != "gone" || n.Ratio != 0 {
			t.Errorf("against nothing: %+v", n)
		}
	}
}
