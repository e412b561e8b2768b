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
	name       string
	loop       func(n int) // does the operation n times
	prepare    func()      // before each round, not timed; may be nil
	stop       func()      // after the last round; may be nil
	goroutines int         // 0 means what the table says
	skip       string      // why the row is missing; empty when it is there
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
	walls             []float64 // nanoseconds an operation by the clock, of each round
	times             []float64 // of CPU time
	median, low, high float64   // of the CPU times: median and quartiles
	allocs, bytes     float64   // an operation
}

// measure runs the subjects in turn and prints the table.
func (r *run) measure(t table) []result {
	results := make([]result, len(t.rows))
	counts := make([]int, len(t.rows))
	for i := range t.rows {
		s := &t.rows[i]
		s.goroutines = max(s.goroutines, t.goroutines, 1)
		if s.prepare == nil {
			s.prepare = func() {}
		}
		results[i].subject = *s
		if s.skip == "" {
			s.prepare()
			counts[i] = r.calibrate(s.loop, s.goroutines)
		}
	}
	for range r.rounds {
		for i, s := range t.rows {
			if s.skip == "" {
				s.prepare()
				wall, cpu := timed(s.loop, counts[i], s.goroutines)
				results[i].walls = append(results[i].walls, float64(wall)/float64(counts[i]))
				results[i].times = append(results[i].times, float64(cpu)/float64(counts[i]))
			}
		}
	}
	for i, s := range t.rows {
		if s.skip != "" {
			continue
		}
		r := &results[i]
		r.median, r.low, r.high = quartiles(r.times)
		s.prepare()
		r.allocs, r.bytes = allocations(s.loop, counts[i])
		if s.stop != nil {
			s.stop()
		}
	}
	write(r, t, results)
	return results
}

func (r *run) calibrate(loop func(int), workers int) int {
	for n := workers; ; n *= 2 {
		if d, _ := timed(loop, n, workers); d > r.roundTime/4 || n > 1<<28 {
			return max(workers, int(float64(n)*float64(r.roundTime)/float64(d)))
		}
	}
}

// timed returns how long n operations take that the workers share, by the clock and
// in CPU time of the process.
func timed(loop func(int), n, workers int) (wall, cpu time.Duration) {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	if workers > 1 {
		for range workers {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-begin
				loop(n / workers)
			})
		}
		ready.Wait()
	}
	used, start := cpuTime(), time.Now()
	if workers == 1 {
		loop(n)
	} else {
		close(begin)
		done.Wait()
	}
	return time.Since(start), cpuTime() - used
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
// terminal. Spread and ratio are of the CPU time; the ratio is to the first row that
// was measured.
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
	fmt.Fprintln(tw, "| \tCPU ns\t| spread\t| ratio\t| ns by the clock\t| allocs\t| bytes\t|")
	fmt.Fprintln(tw, "|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|")
	for _, r := range results {
		if r.skip != "" {
			fmt.Fprintf(tw, "| %s\t| missing: %s\t| \t| \t| \t| \t| \t|\n", r.name, r.skip)
			continue
		}
		wall, _, _ := quartiles(r.walls)
		fmt.Fprintf(tw, "| %s\t| %s\t| %.0f %%\t| %.2f\t| %s\t| %.1f\t| %.0f\t|\n",
			r.name, figure(r.median), 100*(r.high-r.low)/r.median, r.median/base, figure(wall), r.allocs, r.bytes)
	}
	_ = tw.Flush()
}

func figure(v float64) string {
	if v < 100 {
		return strings.TrimSuffix(fmt.Sprintf("%.2f", v), "0")
	}
	return fmt.Sprintf("%.0f", v)
}
