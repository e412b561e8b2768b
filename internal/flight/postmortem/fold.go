package postmortem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Group is processes that were doing the same.
type Group struct {
	Processes []*Process
	State     State
	In        *Place // of the first of them
	Last      *Place
	// Shortest and Longest are the ages of what they were in.
	Shortest, Longest time.Duration
	Odd               bool // they are where the run diverged
}

func (r *Report) fold() {
	odd := map[*Process]bool{}
	for _, p := range r.Diverged.odd() {
		odd[p] = true
	}
	type key struct {
		state State
		in    string // or, when it is in no span, what it finished last
		open  bool
		odd   bool
	}
	groups := map[key]*Group{}
	for _, p := range r.Processes {
		k := key{state: p.State, open: p.In != nil, odd: odd[p]}
		if at := cmp.Or(p.In, p.Last); at != nil {
			k.in = at.text()
		}
		g := groups[k]
		if g == nil {
			g = &Group{State: p.State, In: p.In, Last: p.Last, Odd: odd[p]}
			groups[k] = g
			r.Groups = append(r.Groups, g)
		}
		age := time.Duration(0)
		switch {
		case p.In != nil:
			age = p.In.For
		case p.Last != nil:
			age = p.Last.For
		}
		if len(g.Processes) == 0 || age < g.Shortest {
			g.Shortest = age
		}
		g.Longest = max(g.Longest, age)
		g.Processes = append(g.Processes, p)
	}
	slices.SortStableFunc(r.Groups, func(a, b *Group) int {
		if a.Odd != b.Odd {
			if a.Odd {
				return -1
			}
			return 1
		}
		return cmp.Compare(len(b.Processes), len(a.Processes))
	})
}

func (p *Place) text() string {
	if p.HasStep {
		return fmt.Sprintf("%s of step %d", clean(p.Name), p.Step)
	}
	return clean(p.Name)
}

// names says which processes: by rank where that tells them apart.
func (r *Report) names(ps []*Process) string {
	ranks := make([]int, len(ps))
	for i, p := range ps {
		ranks[i] = p.Rank
	}
	slices.Sort(ranks)
	if r.byRank() {
		word := "ranks "
		if len(ranks) == 1 {
			word = "rank "
		}
		return word + Ranges(ranks)
	}
	const most = 4
	var names []string
	for _, p := range ps[:min(len(ps), most)] {
		name := fmt.Sprintf("%s (pid %d on %s)", cmp.Or(clean(p.Service), "a process"), p.PID, cmp.Or(clean(p.Host), "a host"))
		if p.WorldSize > 1 {
			name = fmt.Sprintf("rank %d of ", p.Rank) + name
		}
		names = append(names, name)
	}
	if len(ps) > most {
		names = append(names, fmt.Sprintf("and %d more", len(ps)-most))
	}
	return strings.Join(names, ", ")
}

func (r *Report) byRank() bool {
	seen := make(map[int]bool, len(r.Processes))
	for _, p := range r.Processes {
		if seen[p.Rank] {
			return false
		}
		seen[p.Rank] = true
	}
	return r.WorldSize > 1
}

// Ranges writes sorted numbers short: 0-4,6.
func Ranges(sorted []int) string {
	var b strings.Builder
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] <= sorted[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if fmt.Fprint(&b, sorted[i]); sorted[j] > sorted[i] {
			fmt.Fprintf(&b, "-%d", sorted[j])
		}
		i = j + 1
	}
	return b.String()
}
