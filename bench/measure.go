package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// subject is one row of a table.
type subject struct {
	name string
	loop func(n int) // does the operation n times
	stop func()      // after the last round; may be nil
	skip string      // why the row is missing; empty when it is there
}

// table is a set of subjects that take turns.
type table struct {
	title      string
	goroutines int // 0 means 1
	rows       []subject
}

// result is what was measured of one subject.
type result struct {
	subject
	median, low, high float64 // nanoseconds an operation: median and quartiles
	allocs, bytes     float64 // an operation
}

const roundTime = 20 * time.Millisecond

// measure runs the subjects in turn for the given number of rounds.
func (t table) measure(rounds int) []result {
	workers := max(t.goroutines, 1)
	results := make([]result, len(t.rows))
	counts := make([]int, len(t.rows))
	times := make([][]float64, len(t.rows))
	for i, s := range t.rows {
		results[i].subject = s
		if s.skip == "" {
			counts[i] = calibrate(s.loop, workers)
		}
	}
	for range rounds {
		for i, s := range t.rows {
			if s.skip == "" {
				times[i] = append(times[i], float64(timed(s.loop, counts[i], workers))/float64(counts[i]))
			}
		}
	}
	for i, s := range t.rows {
		if s.skip != "" {
			continue
		}
		r := &results[i]
		r.median, r.low, r.high = quartiles(times[i])
		r.allocs, r.bytes = allocations(s.loop, counts[i])
		if s.stop != nil {
			s.stop()
		}
	}
	return results
}

func calibrate(loop func(int), workers int) int {
	for n := 100 * workers; ; n *= 2 {
		if d := timed(loop, n, workers); d > roundTime/4 || n > 1<<30 {
			return max(workers, int(float64(n)*float64(roundTime)/float64(d)))
		}
	}
}

// timed returns how long n operations take, shared by the workers.
func timed(loop func(int), n, workers int) time.Duration {
	if workers == 1 {
		start := time.Now()
		loop(n)
		return time.Since(start)
	}
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for range workers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			loop(n / workers)
		})
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	return time.Since(start)
}

func allocations(loop func(int), n int) (allocs, bytes float64) {
	n = min(n, 200_000)
	loop(n) // what a pool or a queue takes the first time is not the price of an operation
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	loop(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
}

func quartiles(values []float64) (median, low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		x := q * float64(len(sorted)-1)
		i := int(x)
		if i+1 >= len(sorted) {
			return sorted[len(sorted)-1]
		}
		return sorted[i] + (x-float64(i))*(sorted[i+1]-sorted[i])
	}
	return at(0.5), at(0.25), at(0.75)
}

// write prints the results as a Markdown table whose columns also line up on a
// terminal. The ratio is to the first row that was measured.
func write(w io.Writer, t table, results []result) {
	fmt.Fprintf(w, "\n### %s\n\n", t.title)
	base := math.NaN()
	for _, r := range results {
		if r.skip == "" {
			base = r.median
			break
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(tw, "| \tns\t| spread\t| ratio\t| allocs\t| bytes\t|")
	fmt.Fprintln(tw, "|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|")
	for _, r := range results {
		if r.skip != "" {
			fmt.Fprintf(tw, "| %s\t| missing: %s\t| \t| \t| \t|\n", r.name, r.skip)
			continue
		}
		fmt.Fprintf(tw, "| %s\t| %s\t| %.0f %%\t| %.2f\t| %.1f\t| %.0f\t|\n",
			r.name, figure(r.median), 100*(r.high-r.low)/r.median, r.median/base, r.allocs, r.bytes)
	}
	tw.Flush()
}

func figure(v float64) string {
	if v < 100 {
		return strings.TrimSuffix(fmt.Sprintf("%.2f", v), "0")
	}
	return fmt.Sprintf("%.0f", v)
}
