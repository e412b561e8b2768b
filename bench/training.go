package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
)

// weights is the state of the loop that is slowed down: one layer, and plain
// arithmetic, so that a step is always the same work.
var weights [4096]float64

func compute(passes int) {
	for range passes {
		for i := range weights {
			weights[i] = weights[i]*0.999 + 0.001*float64(i&7)
		}
	}
}

// step is one step as a training loop would have it, with the spans of per_step.
func step(ctx context.Context, i, passes int) {
	ctx, span := lens.ManagedSpan(ctx, lens.Step, "train.step", attribute.Int("dl.iteration", i), attribute.String("phase", "train"))
	defer lens.End(span, nil)
	_, forward := lens.ManagedSpan(ctx, lens.ForwardBackward, "train.forward_backward", attribute.Int("microbatch", 0))
	compute(passes * 3 / 4)
	lens.End(forward, nil)
	_, optimizer := lens.ManagedSpan(ctx, lens.Optimizer, "train.optimizer", attribute.Float64("lr", 1e-3))
	compute(passes - passes*3/4)
	lens.End(optimizer, nil)
}

// training measures how much longer the steps of a training loop take with the
// preset per_step, exporting over OTLP to another process, than with no group on.
// Rounds with and without take turns in random order, two of them a pair.
func training(r *run) {
	runtime.LockOSThread()
	receiving := startReceiver()
	defer receiving.close()
	ctx := context.Background()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.Endpoint = true, "per_step", false, "http://"+receiving.address
	h, err := lens.SetupTelemetry(ctx, cfg, lens.WithRank(0, 1), lens.WithGlobalProvider(false), lens.WithLogger(slog.New(slog.DiscardHandler)))
	must(err)
	passes := passesFor(time.Millisecond)
	steps, pairs := max(5, r.scaled(50)), max(2, r.rounds*15)
	rows := []struct {
		name   string
		ratios []float64
	}{
		{name: "the thread that runs the loop, CPU time"},
		{name: "the whole process with the export, CPU time"},
		{name: "the loop, by the clock"},
	}
	measure := func(on bool) (took [3]float64) {
		if on {
			must(lens.SetSpanGroupSpec("per_step"))
		} else {
			lens.SetEnabledSpanGroups()
		}
		process, start := cpuTime(), time.Now()
		thread, _ := threadTime()
		for i := range steps {
			step(ctx, i, passes)
		}
		threadEnd, ok := threadTime()
		took[2] = float64(time.Since(start))
		must(h.ForceFlush(ctx))
		took[1] = float64(cpuTime() - process)
		if ok {
			took[0] = float64(threadEnd - thread)
		}
		return took
	}
	measure(true)
	for range pairs {
		var took [2][3]float64
		first := rand.IntN(2)
		for _, i := range []int{first, 1 - first} {
			took[i] = measure(i == 1)
		}
		for j := range rows {
			if took[0][j] > 0 {
				rows[j].ratios = append(rows[j].ratios, took[1][j]/took[0][j])
			}
		}
	}
	fmt.Fprintf(r, "\n### A training loop with 1 ms steps, per_step and exporting, beside off: %d pairs of %d steps, 3 spans a step\n\n", pairs, steps)
	fmt.Fprint(r, "| | slow-down | 95 % confidence |\n|---|---:|---:|\n")
	for i, row := range rows {
		if len(row.ratios) == 0 {
			fmt.Fprintf(r, "| %s | missing: this system does not say it | |\n", row.name)
			continue
		}
		m, low, high := bootstrap(row.ratios)
		fmt.Fprintf(r, "| %s | %.2f %% | %.2f %% to %.2f %% |\n", row.name, 100*(m-1), 100*(low-1), 100*(high-1))
		if i == 0 {
			r.promises = append(r.promises, promise{What: "1 ms training step: per_step / off (95 % confidence instead of quartiles)", Median: m, Low: low, High: high, Limit: 1.005, Interval: true})
		}
	}
	must(h.Shutdown(ctx))
}

// passesFor returns how many passes take d on this thread.
func passesFor(d time.Duration) int {
	const tries = 20
	best := time.Hour
	for range tries {
		start := time.Now()
		compute(100)
		best = min(best, time.Since(start))
	}
	return max(4, int(100*d/best))
}

// bootstrap returns the median of the values and the interval that holds 95 % of
// the medians of samples drawn from them.
func bootstrap(values []float64) (median, low, high float64) {
	const draws = 2000
	medians, sample := make([]float64, draws), make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[rand.IntN(len(values))]
		}
		medians[i], _, _ = quartiles(sample)
	}
	slices.Sort(medians)
	median, _, _ = quartiles(values)
	return median, medians[draws*25/1000], medians[draws*975/1000-1]
}
