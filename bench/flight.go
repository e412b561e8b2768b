package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/nemo-lens/lens"
)

// flightRecorder measures what the flight recorder adds to a span, and what a span
// costs in a rank that does not export and records to its file alone. It is CPU time
// of the whole process, with what exporting takes. Each round sets up anew, as there
// is one set-up at a time.
func flightRecorder(r *run) {
	burst, bursts := 1500, r.scaled(40)
	receiving := startReceiver()
	defer receiving.close()
	dir, err := os.MkdirTemp("", "lens-bench")
	must(err)
	defer func() { must(os.RemoveAll(dir)) }()
	ctx := context.Background()
	kinds := []struct {
		name      string
		rank      int // of 8, of which the last exports
		file      bool
		overWire  bool
		times     []float64
		processed result
	}{
		{name: "discarding exporter", rank: 7},
		{name: "discarding exporter, flight recorder", rank: 7, file: true},
		{name: "OTLP receiver, another process", rank: 7, overWire: true},
		{name: "flight recorder alone", file: true},
	}
	for range r.rounds {
		for i := range kinds {
			k := &kinds[i]
			cfg := lens.DefaultConfig()
			cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled = true, "per_step", false
			opts := []lens.Option{lens.WithRank(k.rank, 8), lens.WithGlobalProvider(false), lens.WithLogger(slog.New(slog.DiscardHandler))}
			if k.overWire {
				cfg.Endpoint = "http://" + receiving.address
			} else {
				opts = append(opts, lens.WithSpanExporter(discardExporter{}))
			}
			if k.file {
				cfg.FlightDir = dir
			}
			h, err := lens.SetupTelemetry(ctx, cfg, opts...)
			must(err)
			loop := lensLoop(lens.Step, shape{2, 1})
			loop(burst) // a connection, pages of the file
			must(h.ForceFlush(ctx))
			if k.overWire {
				receiving.wait(burst)
			}
			before := cpuTime()
			for range bursts {
				loop(burst)
				must(h.ForceFlush(ctx))
				if k.overWire {
					receiving.wait(burst)
				}
			}
			k.times = append(k.times, float64(cpuTime()-before)/float64(burst*bursts))
			must(h.Shutdown(ctx))
		}
	}
	fmt.Fprint(r, "\n### The flight recorder: CPU time of the process for a span\n\n| | CPU ns a span | spread | more than without |\n|---|---:|---:|---:|\n")
	for i := range kinds {
		k := &kinds[i]
		k.processed = result{subject: subject{name: k.name}, times: k.times}
		k.processed.median, k.processed.low, k.processed.high = quartiles(k.times)
		more := ""
		if i == 1 {
			added := make([]float64, len(k.times)) // by round: what is beside it changes slowly
			for j := range added {
				added[j] = k.times[j] - kinds[0].times[j]
			}
			median, low, high := quartiles(added)
			more = fmt.Sprintf("%.0f (%.0f to %.0f)", median, low, high)
		}
		fmt.Fprintf(r, "| %s | %.0f | %.0f %% | %s |\n", k.name, k.processed.median, 100*(k.processed.high-k.processed.low)/k.processed.median, more)
	}
	r.compare("a span of a rank that records to its file alone / of one that exports", 0.5, kinds[3].processed, kinds[2].processed)
}
