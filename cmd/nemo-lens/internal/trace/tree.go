package trace

import "slices"

// Resolve finds out, once all inputs are read, who is whose parent and child,
// and hands steps and rollouts down to spans that do not name their own. Spans
// that are there twice are taken out; the one that says more stays.
func (s *Store) Resolve(report *Report) {
	s.joinRecorded()
	s.link(report)
	s.countUnrecorded(report)
	s.inherit(report)
	s.collectChildren()
}

// link finds the parents by their ids, and drops duplicates.
func (s *Store) link(report *Report) {
	size := 16
	for size < s.count*8/5+1 {
		size *= 2
	}
	table := make([]int32, size) // of indices + 1; open addressing
	slot := func(trace uint32, id uint64) uint64 {
		h := (id ^ uint64(trace)*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
		return (h ^ h>>32) & uint64(size-1)
	}
	find := func(trace uint32, id uint64) (at uint64, index int32) {
		for at = slot(trace, id); ; at = (at + 1) & uint64(size-1) {
			i := table[at]
			if i == 0 {
				return at, None
			}
			if other := s.At(int(i - 1)); other.ID == id && other.Trace == trace {
				return at, i - 1
			}
		}
	}
	kept := 0
	for i := range s.count {
		span := s.At(i)
		at, index := find(span.Trace, span.ID)
		if index != None {
			report.Spans--
			other := s.At(int(index))
			if (span.Flags^other.Flags)&FlagRecorded == 0 {
				report.Duplicates++ // not what a recorder keeps of a span that was written as well
			}
			if span.worth() > other.worth() {
				*other = *span
				if s.AttrTexts != nil {
					s.attrs[index] = s.attrs[i]
				}
			}
			continue
		}
		*s.At(kept) = *span
		if s.AttrTexts != nil {
			s.attrs[kept] = s.attrs[i]
		}
		kept++
		table[at] = int32(kept)
	}
	s.count = kept
	for i := range s.count {
		span := s.At(i)
		span.Parent = None
		if span.ParentID == 0 {
			continue
		}
		if _, span.Parent = find(span.Trace, span.ParentID); span.Parent == None {
			report.Orphans++
		}
	}
}

// worth orders spans with the same ids by how much they say: a finished one more than
// an open one, and one of an exporter more than that of a flight recorder.
func (s *Span) worth() (n int) {
	if s.Flags&FlagOpen == 0 {
		n += 2
	}
	if s.Flags&FlagRecorded == 0 {
		n++
	}
	return n
}

// inherit hands down steps and rollouts, and cuts parents that go in a circle.
func (s *Store) inherit(report *Report) {
	for i := range s.count {
		s.At(i).Flags &^= visiting | visited
	}
	var path []int32
	for i := range s.count {
		path = path[:0]
		for at := int32(i); at != None; {
			span := s.At(int(at))
			if span.Flags&visited != 0 {
				break
			}
			span.Flags |= visiting
			path = append(path, at)
			if span.Parent != None && s.At(int(span.Parent)).Flags&visiting != 0 {
				span.Parent = None
				report.Loops++
			}
			at = span.Parent
		}
		for _, at := range slices.Backward(path) {
			span := s.At(int(at))
			span.Flags = span.Flags&^visiting | visited
			if span.Parent == None {
				continue
			}
			parent := s.At(int(span.Parent))
			if span.Step == None {
				span.Step = parent.Step
			}
			if span.Rollout == 0 {
				span.Rollout = parent.Rollout
			}
		}
	}
}

// collectChildren makes one list of all children, grouped by their parents.
func (s *Store) collectChildren() {
	s.childStart = make([]uint32, s.count+1)
	s.roots = nil
	for i := range s.count {
		if p := s.At(i).Parent; p != None {
			s.childStart[p+1]++
		} else {
			s.roots = append(s.roots, uint32(i))
		}
	}
	for i := range s.count {
		s.childStart[i+1] += s.childStart[i]
	}
	s.children = make([]uint32, s.count-len(s.roots))
	// The place of the next child of i is childStart[i]: afterwards each entry
	// has moved to its end, which is where the next one's begins.
	for i := range s.count {
		if p := s.At(i).Parent; p != None {
			s.children[s.childStart[p]] = uint32(i)
			s.childStart[p]++
		}
	}
	copy(s.childStart[1:], s.childStart[:s.count])
	s.childStart[0] = 0
	for i := range s.count {
		if c := s.Children(i); len(c) > 1 {
			slices.SortFunc(c, s.byStart)
		}
	}
	slices.SortFunc(s.roots, s.byStart)
}

// Walk calls visit for a span and everything below it, parents first, each with
// its depth. visit returns false to leave out what is below.
func (s *Store) Walk(root int, visit func(i, depth int) bool) {
	type place struct{ i, depth int }
	stack := []place{{root, 0}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !visit(at.i, at.depth) {
			continue
		}
		for _, c := range slices.Backward(s.Children(at.i)) {
			stack = append(stack, place{int(c), at.depth + 1})
		}
	}
}
