package lanes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// random is a store of spans that overlap in every way, on two ranks.
func random(t testing.TB, seed uint64, n int) *trace.Store {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	s, report := trace.NewStore(false), &trace.Report{}
	r := trace.Reader{Store: s, Report: report}
	for i := range n {
		start := rng.IntN(1000)
		parent := ""
		if i > 0 && rng.IntN(4) > 0 {
			parent = fmt.Sprintf("%016x", rng.IntN(i)+1)
		}
		text := fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"dl.rank","value":{"intValue":"%d"}}]},"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","parentSpanId":"%s","name":"n","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`,
			rng.IntN(2), 1, i+1, parent, 1000+start, 1000+start+rng.IntN(200))
		if err := r.Read(t.Context(), "x", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	s.Resolve(report)
	return s
}

func TestNothingOverlapsInARowAndParentsAreAbove(t *testing.T) {
	for seed := range uint64(15) {
		s := random(t, seed, 60)
		row := map[uint32]int{}
		n := 0
		for _, places := range Rows(s, nil) {
			for i, p := range places {
				n++
				row[p.Index] = p.Lane
				if i == 0 || places[i-1].Lane != p.Lane {
					continue
				}
				if before := s.At(int(places[i-1].Index)); before.End() > s.At(int(p.Index)).Start {
					t.Fatalf("seed %d: spans overlap in row %d", seed, p.Lane)
				}
			}
		}
		if n != s.Len() {
			t.Fatalf("%d of %d spans have a place", n, s.Len())
		}
		for i := range s.Len() {
			span := s.At(i)
			if p := span.Parent; p != trace.None && s.At(int(p)).Process == span.Process && s.At(int(p)).Start <= span.Start && row[uint32(p)] >= row[uint32(i)] {
				t.Fatalf("seed %d: a span in row %d is not below its parent in row %d", seed, row[uint32(i)], row[uint32(p)])
			}
		}
	}
}

func TestSpansOfALaneNest(t *testing.T) {
	for seed := range uint64(15) {
		s := random(t, seed, 60)
		for _, places := range Stacks(s, nil) {
			for i, p := range places {
				a := s.At(int(p.Index))
				for _, q := range places[:i] {
					b := s.At(int(q.Index)) // it starts no later than a
					if p.Lane == q.Lane && b.End() > a.Start && b.End() < a.End() {
						t.Fatalf("seed %d: in lane %d a span from %d to %d crosses one from %d to %d", seed, p.Lane, b.Start, b.End(), a.Start, a.End())
					}
				}
			}
		}
	}
}

func TestOnlyChosenSpansHavePlaces(t *testing.T) {
	s := random(t, 1, 20)
	selected := make([]bool, 20)
	selected[3], selected[7] = true, true
	for _, layout := range [][][]Place{Rows(s, selected), Stacks(s, selected)} {
		n := 0
		for _, places := range layout {
			for _, p := range places {
				n++
				if !selected[p.Index] {
					t.Errorf("span %d has a place", p.Index)
				}
			}
		}
		if n != 2 {
			t.Errorf("%d spans have places", n)
		}
	}
}
