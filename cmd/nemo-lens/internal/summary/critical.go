package summary

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// Segment is a piece of a critical path: a span and how long the end of the
// whole waited for it.
type Segment struct {
	Index   int    `json:"-"` // of the span
	Process string `json:"process"`
	Name    string `json:"name"`
	Start   int64  `json:"start_unix_ns"`
	Time    int64  `json:"time_ns"`
}

// Part is all segments of one name on one process.
type Part struct {
	Process string  `json:"process"`
	Name    string  `json:"name"`
	Time    int64   `json:"time_ns"`
	Share   float64 `json:"share"` // of the whole path, 0 to 1
	Count   int     `json:"segments"`
}

// walker goes back in time from the end of a span.
type walker struct {
	s      *trace.Store
	labels []string
	out    []Segment
	// hop says where the path goes on when it meets the end of a span of waiting.
	hop func(i int, until int64) (next hop, ok bool)
	// jump is set when the path has left for another process.
	jump *hop
}

// hop is where a path goes on: a time on a process.
type hop struct {
	wait    int // the span of waiting that began last
	process uint32
	at      int64
}

func (w *walker) segment(i int, from, to int64) {
	if to <= from {
		return
	}
	span := w.s.At(i)
	w.out = append(w.out, Segment{Index: i, Process: w.labels[span.Process], Name: w.s.Name(span), Start: from, Time: to - from})
}

// back follows the path inside span i from time until back to its start. It goes
// through the child that ended last, then the one that ended last before that
// one began, and so on; what is between is the span's own.
func (w *walker) back(i int, until int64, depth int) {
	const maxDepth = 10_000 // of spans inside each other: the stack of a goroutine is not endless
	span := w.s.At(i)
	at := min(until, span.End())
	children := w.s.Children(i)
	if depth < maxDepth && len(children) > 0 {
		byEnd := slices.Clone(children)
		slices.SortStableFunc(byEnd, func(a, b uint32) int {
			return cmp.Compare(w.s.At(int(a)).End(), w.s.At(int(b)).End())
		})
		for _, c := range slices.Backward(byEnd) {
			child := w.s.At(int(c))
			end := min(child.End(), at)
			if child.Start >= at || child.End() <= span.Start || end <= child.Start {
				continue
			}
			// A child that goes on after at was not what the end waited for,
			// unless it is cut only by the end of its parent.
			if child.End() > at && at != span.End() {
				continue
			}
			w.segment(i, end, at)
			if w.hop != nil {
				if next, ok := w.hop(int(c), end); ok {
					w.segment(next.wait, next.at, end)
					w.jump = &next
					return
				}
			}
			w.back(int(c), end, depth+1)
			if w.jump != nil {
				return
			}
			at = max(child.Start, span.Start)
		}
	}
	w.segment(i, span.Start, at)
}

// TracePath is the critical path of a span and what is below it, in the order of time.
func TracePath(s *trace.Store, root int) []Segment {
	w := &walker{s: s, labels: s.Labels()}
	w.back(root, s.At(root).End(), 0)
	slices.Reverse(w.out)
	return w.out
}

// Path is the critical path of a step over all its ranks, in the order of time:
// it starts from the rank that ended last, and where it meets waiting it goes on
// at the rank that came to the same collective operation last. The clocks of
// different hosts are taken as they are.
func (st *Step) Path(wait *regexp.Regexp) []Segment {
	s := st.store
	waits := waitNames(s, wait)
	w := &walker{s: s, labels: s.Labels()}
	outermost := map[uint32][]int{}
	var waiting []int
	last := -1
	for _, p := range st.parts {
		i := int(p.index)
		if p.wait {
			waiting = append(waiting, i)
			continue
		}
		outermost[p.process] = append(outermost[p.process], i)
		if last < 0 || s.At(i).End() > s.At(last).End() || s.At(i).End() == s.At(last).End() && p.process == st.process {
			last = i
		}
	}
	w.hop = func(i int, until int64) (hop, bool) {
		span := s.At(i)
		if !waits[span.Name] {
			return hop{}, false
		}
		latest := i
		for _, other := range waiting {
			o := s.At(other)
			if o.Name == span.Name && o.Process != span.Process && o.Start > s.At(latest).Start && o.Start < until && o.End() > span.Start {
				latest = other
			}
		}
		if latest == i {
			return hop{}, false
		}
		o := s.At(latest)
		return hop{wait: latest, process: o.Process, at: o.Start}, true
	}
	root, at := last, s.At(last).End()
	for range len(st.parts) + 1 {
		w.jump = nil
		w.back(root, at, 0)
		process := s.At(root).Process
		at = s.At(root).Start
		if w.jump != nil {
			process, at = w.jump.process, w.jump.at
		}
		// The span of the step that was open then, else the one before it.
		root = -1
		for _, i := range outermost[process] {
			if span := s.At(i); span.Start < at && (root < 0 || span.End() > s.At(root).End()) {
				root = i
			}
		}
		if root < 0 {
			break
		}
	}
	slices.Reverse(w.out)
	return w.out
}

// Parts adds up the segments of a path, the longest part first.
func Parts(path []Segment) []Part {
	type key struct{ process, name string }
	at := map[key]int{}
	var out []Part
	var total int64
	for _, seg := range path {
		k := key{seg.Process, seg.Name}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Part{Process: seg.Process, Name: seg.Name})
		}
		out[i].Time += seg.Time
		out[i].Count++
		total += seg.Time
	}
	for i := range out {
		out[i].Share = float64(out[i].Time) / float64(max(total, 1))
	}
	slices.SortStableFunc(out, func(a, b Part) int { return cmp.Compare(b.Time, a.Time) })
	return out
}
