package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/nemo-lens/lens"
)

// flightRecorder measures what the flight recorder adds to a span, and what a span
// costs in a rank that does not export and records to its file alone: in CPU time of the
// thread that makes the spans, and of the whole process with what exports them. Each
// round sets up anew, as there is one set-up at a time.
func flightRecorder(r *run) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	receiving := startReceiver()
	defer receiving.close()
	dir, err := os.MkdirTemp("", "lens-bench")
	must(err)
	defer func() { must(os.RemoveAll(dir)) }()
	kinds := []flightKind{
		{name: "discarding exporter", rank: 7},
		{name: "discarding exporter, flight recorder", rank: 7, dir: dir},
		{name: "OTLP receiver, another process", rank: 7, receiving: receiving},
		{name: "flight recorder alone", dir: dir},
	}
	for range r.rounds {
		for i := range kinds {
			kinds[i].measure(1500, r.scaled(40))
		}
	}
	fmt.Fprint(r, "\n### The flight recorder: CPU ns a span\n\n| | its thread | spread | the process | spread |\n|---|---:|---:|---:|---:|\n")
	results := make([][2]result, len(kinds))
	for i, k := range kinds {
		fmt.Fprintf(r, "| %s ", k.name)
		for j := range k.times {
			one := result{subject: subject{name: k.name}, times: k.times[j]}
			if len(one.times) == 0 {
				fmt.Fprint(r, "| missing: this system does not say it | ")
				continue
			}
			one.median, one.low, one.high = quartiles(one.times)
			fmt.Fprintf(r, "| %.0f | %.0f %% ", one.median, 100*(one.high-one.low)/one.median)
			results[i][j] = one
		}
		fmt.Fprint(r, "|\n")
	}
	if n := len(kinds[0].times[0]); n > 0 {
		added := make([]float64, n) // by round: what is beside it changes slowly
		for i := range added {
			added[i] = kinds[1].times[0][i] - kinds[0].times[0][i]
		}
		median, low, high := quartiles(added)
		fmt.Fprintf(r, "\nThe flight recorder adds %.0f ns to a span, quartiles %.0f to %.0f, on its thread.\n", median, low, high)
	}
	r.compare("a span of a rank that records to its file alone / of one that exports", 0.5, results[3][1], results[2][1])
}

// flightKind is a way to set up, and what spans cost in it, in ns of the thread and of
// the process.
type flightKind struct {
	name      string
	rank      int // of 8, of which the last exports
	dir       string
	receiving *remote
	times     [2][]float64
}

func (k *flightKind) measure(burst, bursts int) {
	ctx := context.Background()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.BlockOnFullQueue, cfg.FlightDir = true, "per_step", false, true, k.dir
	opts := []lens.Option{lens.WithRank(k.rank, 8), lens.WithGlobalProvider(false), lens.WithLogger(slog.New(slog.DiscardHandler))}
	if k.receiving == nil {
		opts = append(opts, lens.WithSpanExporter(discardExporter{}))
	} else {
		cfg.Endpoint = "http://" + k.receiving.address
	}
	h, err := lens.SetupTelemetry(ctx, cfg, opts...)
	must(err)
	loop := lensLoop(lens.Step, shape{2, 1})
	send := func() {
		loop(burst)
		must(h.ForceFlush(ctx))
		if k.receiving != nil {
			k.receiving.wait(burst)
		}
	}
	send() // a connection, pages of the file
	process := cpuTime()
	thread, ok := threadTime()
	if k.receiving == nil {
		loop(burst * bursts)
	} else {
		for range bursts {
			send()
		}
	}
	if end, _ := threadTime(); ok {
		k.times[0] = append(k.times[0], float64(end-thread)/float64(burst*bursts))
	}
	must(h.ForceFlush(ctx))
	k.times[1] = append(k.times[1], float64(cpuTime()-process)/float64(burst*bursts))
	must(h.Shutdown(ctx))
}
