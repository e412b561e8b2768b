package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// shownSteps is how many steps the table of the slowest ranks has.
const shownSteps = 10

func report(w io.Writer, o launchOptions, jobs []job) error {
	first := jobs[0].results[0]
	fmt.Fprintf(w, "%d ranks trained %d steps of %d samples, with the same weights %s: accuracy %.4f (%d of %d held-out samples)\n\n",
		o.ranks, o.steps, o.batch, first.Weights, float64(first.Correct)/float64(first.Total), first.Correct, first.Total)
	if err := writeStrategies(w, jobs); err != nil {
		return err
	}
	// The one that says most.
	best := slices.MaxFunc(jobs, func(a, b job) int { return cmp.Compare(len(a.exporters()), len(b.exporters())) })
	if len(best.spans) == 0 {
		fmt.Fprintln(w, "\nno spans: telemetry is off, or no rank was chosen")
		return nil
	}
	fmt.Fprintf(w, "\nunder %s:\n", best.strategy)
	writeTraces(w, best)
	return writeSlowest(w, slowest(best.spans), best)
}

// exporters are the ranks with at least one span, in order.
func (j job) exporters() []int { return ranksOf(j.spans) }

func ranksOf(spans []span) []int {
	ranks := map[int]bool{}
	for _, s := range spans {
		ranks[s.rank] = true
	}
	return slices.Sorted(maps.Keys(ranks))
}

// traces are the trace ids, in order.
func (j job) traces() []string {
	ids := map[string]bool{}
	for _, s := range j.spans {
		ids[s.Trace] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

func numbers(ranks []int) string {
	if len(ranks) == 0 {
		return "none"
	}
	texts := make([]string, len(ranks))
	for i, r := range ranks {
		texts[i] = strconv.Itoa(r)
	}
	return strings.Join(texts, " ")
}

func writeStrategies(w io.Writer, jobs []job) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "strategy\tranks that exported\tspans\ttraces")
	for _, j := range jobs {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", j.strategy, numbers(j.exporters()), len(j.spans), len(j.traces()))
	}
	return table.Flush()
}

// writeTraces shows where the ranks hang together.
func writeTraces(w io.Writer, j job) {
	for _, id := range j.traces() {
		in := slices.DeleteFunc(slices.Clone(j.spans), func(s span) bool { return s.Trace != id })
		fmt.Fprintf(w, "  trace %s: %d spans of ranks %s\n", id, len(in), numbers(ranksOf(in)))
		for _, s := range in {
			if s.Name != spanJob {
				continue
			}
			children := slices.DeleteFunc(slices.Clone(in), func(c span) bool { return c.Parent != s.ID })
			fmt.Fprintf(w, "  %s %s on rank %d, with a %s inside it on ranks %s\n", s.Name, s.ID, s.rank, spanRank, numbers(ranksOf(children)))
		}
	}
}

// laggard is the slowest rank of one step.
type laggard struct {
	step    int
	rank    int
	compute time.Duration // in forward and backward
	others  time.Duration // the median of the other ranks
	waiting time.Duration // the median time of the others in the all-reduce
}

// slowest finds, for each step of which at least two ranks have spans, the one
// that computed longest. It looks at the computation alone: all ranks end a step
// together, so that the steps themselves look alike, and the time shows as
// waiting in the all-reduce of the others.
func slowest(spans []span) []laggard {
	compute, wait := map[int]map[int]time.Duration{}, map[int]map[int]time.Duration{}
	for _, s := range spans {
		into := compute
		switch s.Name {
		case spanForwardBackward:
		case spanAllReduce:
			into = wait
		default:
			continue
		}
		if into[s.step] == nil {
			into[s.step] = map[int]time.Duration{}
		}
		into[s.step][s.rank] += s.Duration()
	}
	var out []laggard
	for _, step := range slices.Sorted(maps.Keys(compute)) {
		ranks := slices.Sorted(maps.Keys(compute[step]))
		if len(ranks) < 2 {
			continue
		}
		worst := slices.MaxFunc(ranks, func(a, b int) int { return cmp.Compare(compute[step][a], compute[step][b]) })
		l := laggard{step: step, rank: worst, compute: compute[step][worst]}
		l.others, l.waiting = medianWithout(compute[step], worst), medianWithout(wait[step], worst)
		out = append(out, l)
	}
	return out
}

func medianWithout(of map[int]time.Duration, rank int) time.Duration {
	var rest []time.Duration
	for r, d := range of {
		if r != rank {
			rest = append(rest, d)
		}
	}
	if len(rest) == 0 {
		return 0
	}
	slices.Sort(rest)
	return rest[len(rest)/2]
}

func writeSlowest(w io.Writer, steps []laggard, j job) error {
	if len(steps) == 0 {
		fmt.Fprintf(w, "\nno slowest rank: it takes %s spans (group forward_backward) of two ranks, and ranks %s exported\n",
			spanForwardBackward, numbers(j.exporters()))
		return nil
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "step\tslowest rank\tcomputed for\tmedian of the others\tthey waited\t")
	times := map[int]int{}
	for i, l := range steps {
		times[l.rank]++
		if i < shownSteps {
			fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%s\t\n", l.step, l.rank, readable(l.compute), readable(l.others), readable(l.waiting))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(steps) - shownSteps; more > 0 {
		fmt.Fprintf(w, "and %d more steps\n", more)
	}
	worst := slices.MaxFunc(slices.Sorted(maps.Keys(times)), func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	fmt.Fprintf(w, "slowest most often: rank %d, in %d of %d steps\n", worst, times[worst], len(steps))
	return nil
}

// readable keeps about four digits of a duration.
func readable(d time.Duration) time.Duration {
	for unit := time.Second; unit >= time.Microsecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 1000)
		}
	}
	return d
}
