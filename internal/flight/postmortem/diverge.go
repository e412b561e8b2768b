package postmortem

import (
	"cmp"
	"slices"
)

// Divergence is the first thing that some processes of the run did and others did
// not.
type Divergence struct {
	Span string
	Step int64
	// Behind have not finished it, Ahead have.
	Behind, Ahead []*Process
}

// item is a span of a step, the same in all processes.
type item struct {
	step int64
	name string
}

// diverge looks for the first span of a step that not all processes have finished.
// Processes that know no steps are left out.
func (r *Report) diverge() {
	var with []*Process
	for _, p := range r.Processes {
		if p.hasStep {
			with = append(with, p)
		}
	}
	if len(with) < 2 {
		return
	}
	// Whoever is in a later step has finished the earlier ones.
	first, last := with[0].maxStep, with[0].maxStep
	for _, p := range with {
		first, last = min(first, p.maxStep), max(last, p.maxStep)
	}
	items, done := finished(with, first)
	for _, it := range items {
		d := &Divergence{Span: it.name, Step: it.step}
		for _, p := range with {
			switch {
			case p.maxStep > it.step || done[it][p]:
				d.Ahead = append(d.Ahead, p)
			case p.whole:
				d.Behind = append(d.Behind, p)
			} // else its file does not tell any more
		}
		if len(d.Behind) > 0 {
			r.Diverged = d
			return
		}
	}
	// No span of a step has finished by some alone; a process may have begun a step
	// that others have not.
	if last == first {
		return
	}
	d := &Divergence{Step: first}
	for _, p := range with {
		if p.maxStep > first {
			d.Ahead = append(d.Ahead, p)
		} else {
			d.Behind = append(d.Behind, p)
		}
	}
	r.Diverged = d
}

// finished returns what any process has finished from the step first on, in the order in
// which one process finished the spans of a step, and who has finished each.
func finished(processes []*Process, first int64) (items []item, done map[item]map[*Process]bool) {
	position := map[item]int{}
	done = map[item]map[*Process]bool{}
	for _, p := range processes {
		n := 0
		for _, s := range p.steps {
			if s.step < first {
				continue
			}
			it := item{s.step, s.name}
			if done[it] == nil {
				done[it] = map[*Process]bool{}
				items = append(items, it)
			}
			position[it] = max(position[it], n) // fewer are before it where some were overwritten
			done[it][p] = true
			n++
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(position[a], position[b]), cmp.Compare(a.name, b.name))
	})
	return items, done
}

// odd are those that differ from the most.
func (d *Divergence) odd() []*Process {
	if d == nil {
		return nil
	}
	if len(d.Ahead) < len(d.Behind) {
		return d.Ahead
	}
	return d.Behind
}
