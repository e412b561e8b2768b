package observer

import (
	"context"
	"math"
	"runtime/metrics"

	"go.opentelemetry.io/otel/metric"
)

// most is how many values of one histogram are replayed in one interval.
const most = 1000

// number reads one number of package runtime/metrics.
func number(name string) func() (int64, bool) {
	return func() (int64, bool) {
		s := []metrics.Sample{{Name: name}}
		metrics.Read(s)
		if s[0].Value.Kind() != metrics.KindUint64 {
			return 0, false // a later Go does not have it
		}
		return int64(s[0].Value.Uint64()), true
	}
}

func (i *instruments) scheduler(tasks bool) {
	goroutines := number("/sched/goroutines:goroutines")
	i.upDown(GoroutinesName, "{goroutine}", "Goroutines that exist.", goroutines)
	cycles, err := i.meter.Int64ObservableCounter(GCCyclesName, metric.WithUnit("{gc_cycle}"),
		metric.WithDescription("Completed cycles of the garbage collector."))
	i.check(GCCyclesName, err)
	i.int(cycles, number("/gc/cycles/total:gc-cycles"))
	if !tasks {
		return
	}
	count, err := i.meter.Int64ObservableGauge(TasksName, metric.WithUnit("{task}"),
		metric.WithDescription("Goroutines that exist; not those that wait to run."))
	i.check(TasksName, err)
	i.int(count, goroutines)
	states, err := i.meter.Int64ObservableGauge(StatesName, metric.WithUnit("{goroutine}"),
		metric.WithDescription("Goroutines by what they do, approximately."))
	i.check(StatesName, err)
	for _, state := range []struct{ name, source string }{
		{"running", "/sched/goroutines/running:goroutines"},
		{"runnable", "/sched/goroutines/runnable:goroutines"},
		{"waiting", "/sched/goroutines/waiting:goroutines"},
		{"not_in_go", "/sched/goroutines/not-in-go:goroutines"},
	} {
		i.int(states, number(state.source), metric.WithAttributes(StateKey.String(state.name)))
	}
}

// replay passes the growth of a histogram of the runtime on to an instrument.
type replay struct {
	sample []metrics.Sample
	into   metric.Float64Histogram
	read   func() *metrics.Float64Histogram // nil if the runtime has no such histogram

	seen []uint64
	owed []float64 // what thinning has rounded away, for each bucket
}

func newReplay(source string, into metric.Float64Histogram) *replay {
	r := &replay{sample: []metrics.Sample{{Name: source}}, into: into}
	r.read = func() *metrics.Float64Histogram {
		metrics.Read(r.sample)
		if r.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
			return nil
		}
		return r.sample[0].Value.Float64Histogram()
	}
	if h := r.read(); h != nil {
		r.seen = append(r.seen, h.Counts...) // what was before is not ours
	}
	return r
}

// advance records what has come since the last call.
func (r *replay) advance(ctx context.Context) {
	h := r.read()
	if h == nil || len(h.Counts) != len(r.seen) {
		return
	}
	if r.owed == nil {
		r.owed = make([]float64, len(r.seen))
	}
	var total uint64
	for b, n := range h.Counts {
		total += n - r.seen[b]
	}
	share := 1.0
	if total > most {
		share = most / float64(total)
	}
	for b, n := range h.Counts {
		grown := n - r.seen[b]
		r.seen[b] = n
		if grown == 0 {
			continue
		}
		r.owed[b] += share * float64(grown)
		times := math.Floor(r.owed[b])
		r.owed[b] -= times
		for range int(times) {
			r.into.Record(ctx, middle(h.Buckets[b], h.Buckets[b+1]))
		}
	}
}

// middle is the value a bucket stands for.
func middle(low, high float64) float64 {
	low = max(low, 0)
	if math.IsInf(high, 1) {
		return low
	}
	return (low + high) / 2
}
