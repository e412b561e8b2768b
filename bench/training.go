package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
// Rounds with and without take turns in random order. A round is long enough for
// batches to leave in it; what is left at its end is flushed outside.
func training(r *run) {
	receiving := startReceiver()
	defer receiving.close()
	ctx := context.Background()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.Endpoint = true, "per_step", false, "http://"+receiving.address
	h, err := lens.SetupTelemetry(ctx, cfg, lens.WithRank(0, 1), lens.WithGlobalProvider(false), lens.WithLogger(slog.New(slog.DiscardHandler)))
	must(err)
	passes := 16
	for {
		start := time.Now()
		compute(passes)
		if d := time.Since(start); d >= time.Millisecond/2 {
			passes = max(1, int(float64(passes)*float64(time.Millisecond)/float64(d)))
			break
		}
		passes *= 2
	}
	steps, pairs := max(5, r.scaled(350)), max(2, r.rounds*2)
	measure := func(on bool) (mean, median float64) {
		if on {
			must(lens.SetSpanGroupSpec("per_step"))
		} else {
			lens.SetEnabledSpanGroups()
		}
		each := make([]float64, steps)
		began := time.Now()
		for i := range steps {
			start := time.Now()
			step(ctx, i, passes)
			each[i] = float64(time.Since(start))
		}
		whole := time.Since(began)
		must(h.ForceFlush(ctx))
		median, _, _ = quartiles(each)
		return float64(whole) / float64(steps), median
	}
	measure(true)
	var means, medians, took []float64
	for range pairs {
		var mean, median [2]float64
		first := rand.IntN(2)
		for _, i := range []int{first, 1 - first} {
			mean[i], median[i] = measure(i == 1)
		}
		means, medians = append(means, mean[1]/mean[0]-1), append(medians, median[1]/median[0]-1)
		took = append(took, median[0])
	}
	base, _, _ := quartiles(took)
	fmt.Fprintf(r, "\n### A training loop, per_step and exporting, beside off: %d pairs of %d steps of %.2f ms, 3 spans a step\n\n", pairs, steps, base/1e6)
	fmt.Fprint(r, "| | slow-down | 95 % confidence |\n|---|---:|---:|\n")
	for _, row := range []struct {
		name   string
		values []float64
	}{{"the median step", medians}, {"all time of a round, whoever takes the processors", means}} {
		m, low, high := bootstrap(row.values)
		fmt.Fprintf(r, "| %s | %.2f %% | %.2f %% to %.2f %% |\n", row.name, 100*m, 100*low, 100*high)
	}
	m, low, high := bootstrap(medians)
	r.promises = append(r.promises, promise{What: "1 ms training step, per_step / off (95 % confidence instead of quartiles)", Median: 1 + m, Low: 1 + low, High: 1 + high, Limit: 1.005})
	must(h.Shutdown(ctx))
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
