// Package lanes puts the spans of each process side by side so that those that
// overlap do not hide each other.
package lanes

import (
	"cmp"
	"slices"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// Place is where a span is drawn.
type Place struct {
	Index uint32 // of the span
	Lane  int    // within its process, from 0
}

// byProcess are the indices of the chosen spans for each process, by start; of
// those that start together a parent comes before its children.
func byProcess(s *trace.Store, selected []bool) [][]uint32 {
	out := make([][]uint32, len(s.Processes))
	for i := range s.Len() {
		if selected == nil || selected[i] {
			p := s.At(i).Process
			out[p] = append(out[p], uint32(i))
		}
	}
	for _, spans := range out {
		slices.SortFunc(spans, func(a, b uint32) int {
			x, y := s.At(int(a)), s.At(int(b))
			return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.Duration, x.Duration), depth(s, x)-depth(s, y), cmp.Compare(a, b))
		})
	}
	return out
}

func depth(s *trace.Store, span *trace.Span) (d int) {
	for span.Parent != trace.None && d < 1000 {
		span = s.At(int(span.Parent))
		d++
	}
	return d
}

// Rows gives each span a row below that of its parent, in which nothing overlaps
// it. The result has a list for each process, ordered by row and then by start.
func Rows(s *trace.Store, selected []bool) [][]Place {
	row := make([]int32, s.Len())
	for i := range row {
		row[i] = trace.None
	}
	var out [][]Place
	for process, spans := range byProcess(s, selected) {
		var ends []int64 // of the last span of each row
		places := make([]Place, 0, len(spans))
		for _, i := range spans {
			span := s.At(int(i))
			at := 0
			// The nearest ancestor that is drawn in this process.
			for p, steps := span.Parent, 0; p != trace.None && steps < 1000; p, steps = s.At(int(p)).Parent, steps+1 {
				if row[p] != trace.None && s.At(int(p)).Process == uint32(process) {
					at = int(row[p]) + 1
					break
				}
			}
			for at < len(ends) && ends[at] > span.Start {
				at++
			}
			for at >= len(ends) {
				ends = append(ends, 0)
			}
			ends[at] = span.End()
			row[i] = int32(at)
			places = append(places, Place{i, at})
		}
		slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(a.Lane, b.Lane) })
		out = append(out, places)
	}
	return out
}

// Stacks gives each span a lane in which it is either inside what is open there
// or after it: that of its parent when that is so, as viewers that draw nesting
// by time want it. The result has a list for each process, ordered by start.
func Stacks(s *trace.Store, selected []bool) [][]Place {
	lane := make([]int32, s.Len())
	for i := range lane {
		lane[i] = trace.None
	}
	var out [][]Place
	for process, spans := range byProcess(s, selected) {
		var open [][]int64 // ends of what is open in each lane, the innermost last
		places := make([]Place, 0, len(spans))
		for _, i := range spans {
			span := s.At(int(i))
			at := -1
			if p := span.Parent; p != trace.None && lane[p] != trace.None && s.At(int(p)).Process == uint32(process) {
				if l := int(lane[p]); fits(open, l, span) && len(open[l]) > 0 {
					at = l
				}
			}
			for l := 0; at < 0; l++ {
				if l == len(open) {
					open = append(open, nil)
				}
				if fits(open, l, span) && len(open[l]) == 0 {
					at = l
				}
			}
			open[at] = append(open[at], span.End())
			lane[i] = int32(at)
			places = append(places, Place{i, at})
		}
		out = append(out, places)
	}
	return out
}

// fits closes what has ended in lane l and reports whether span lies inside the rest.
func fits(open [][]int64, l int, span *trace.Span) bool {
	stack := open[l]
	for len(stack) > 0 && stack[len(stack)-1] <= span.Start {
		stack = stack[:len(stack)-1]
	}
	open[l] = stack
	return len(stack) == 0 || stack[len(stack)-1] >= span.End()
}
