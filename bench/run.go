package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// run is one measurement of one scenario: where its tables go, how much is done,
// and the ratios for the table at the end.
type run struct {
	io.Writer
	rounds    int
	roundTime time.Duration
	tiny      bool   // do next to nothing, to see that it works
	plot      string // where the scenario draws, if it does; empty for not at all
	promises  []promise
}

// promise is one row of the table at the end.
type promise struct {
	What      string
	Median    float64 // of the ratios of the rounds
	Low, High float64 // the quartiles
	Clock     float64 // the ratio of the medians by the clock; 0 when that was not measured
	Limit     float64 // what the ratio is promised to be at most; 0 for nothing
	Interval  bool    // Low and High are those of 95 % confidence
}

// scaled is n, or next to nothing in a tiny run.
func (r *run) scaled(n int) int {
	if r.tiny {
		return max(1, n/1000)
	}
	return n
}

// promise notes a ratio that was measured, or ratios of several rounds.
func (r *run) promise(what string, limit float64, ratios ...float64) {
	p := promise{What: what, Limit: limit}
	p.Median, p.Low, p.High = quartiles(ratios)
	r.promises = append(r.promises, p)
}

// compare notes the ratio of two results of the same rounds, unless one is missing.
func (r *run) compare(what string, limit float64, a, b result) {
	var ratios []float64
	for i := range min(len(a.times), len(b.times)) {
		if b.times[i] > 0 {
			ratios = append(ratios, a.times[i]/b.times[i])
		}
	}
	if len(ratios) == 0 {
		return
	}
	r.promise(what, limit, ratios...)
	if len(a.walls) > 0 {
		over, _, _ := quartiles(a.walls)
		under, _, _ := quartiles(b.walls)
		r.promises[len(r.promises)-1].Clock = over / under
	}
}

// fastest is the result with the least median among those named, or one without
// rounds.
func fastest(results []result, among func(name string) bool) result {
	best := result{median: math.Inf(1)}
	for _, r := range results {
		if r.skip == "" && among(r.name) && r.median < best.median {
			best = r
		}
	}
	return best
}

func named(results []result, name string) result {
	i := slices.IndexFunc(results, func(r result) bool { return r.name == name })
	return results[i]
}

func writePromises(w io.Writer, promises []promise) {
	fmt.Fprint(w, "\n### Ratios\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(tw, "| \tratio\t| quartiles\t| by the clock\t| promised\t| held\t|")
	fmt.Fprintln(tw, "|---\t|---:\t|---:\t|---:\t|---:\t|---\t|")
	for _, p := range promises {
		clock, limit, held := "", "", ""
		if p.Clock > 0 {
			clock = fmt.Sprintf("%.3f", p.Clock)
		}
		if p.Limit > 0 {
			limit, held = strings.TrimSuffix(fmt.Sprintf("%.3f", p.Limit), "0"), "no"
			switch {
			case p.Interval && p.Low <= p.Limit && p.Limit < p.High:
				held = "not decided by this run"
			case p.Median <= p.Limit:
				held = "yes"
			}
		}
		fmt.Fprintf(tw, "| %s\t| %.3f\t| %.3f to %.3f\t| %s\t| %s\t| %s\t|\n", p.What, p.Median, p.Low, p.High, clock, limit, held)
	}
	_ = tw.Flush()
}
