package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens"
)

// counting discards spans and counts them, and takes its time.
type counting struct {
	delay time.Duration
	spans *atomic.Int64
}

func (e counting) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	time.Sleep(e.delay)
	e.spans.Add(int64(len(spans)))
	return nil
}

func (counting) Shutdown(context.Context) error { return nil }

// flood is so many spans as fast as goroutines can make them, repeated after a
// pause.
type flood struct {
	name              string
	goroutines, spans int // spans of each goroutine
	times             int
	pause             time.Duration
}

func (f flood) total() int { return f.goroutines * f.spans * f.times }

func (f flood) run(loop func(int)) time.Duration {
	var busy time.Duration
	for i := range f.times {
		if i > 0 {
			time.Sleep(f.pause)
		}
		var wg sync.WaitGroup
		start := time.Now()
		for range f.goroutines {
			wg.Go(func() { loop(f.spans) })
		}
		wg.Wait()
		busy += time.Since(start)
	}
	return busy
}

// sending is a tracer in use: what makes its spans, what ends it and returns what
// it says about them, and what arrived.
type sending struct {
	loop    func(int)
	end     func() string
	arrived func() int
}

func floodLens(made int, opts []lens.Option, endpoint string, arrived func() int) sending {
	ctx := context.Background()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.Endpoint = true, "per_step", false, endpoint
	h, err := lens.SetupTelemetry(ctx, cfg, append(opts, lens.WithRank(0, 1), lens.WithGlobalProvider(false),
		lens.WithLogger(slog.New(slog.DiscardHandler)), lens.WithShutdownTimeout(time.Minute))...)
	must(err)
	s := sending{loop: lensLoop(lens.Step, shape{2, 1}), arrived: arrived}
	s.end = func() string {
		_ = h.Shutdown(ctx) // its error says what was lost, and so do the statistics
		st, got := h.Stats(), uint64(arrived())
		if st.Ended != uint64(made) || st.Exported != got || st.Ended != st.Exported+st.Dropped+st.Failed+st.Queued || st.Queued != 0 {
			return fmt.Sprintf("WRONG: %d arrived, but %+v", got, st)
		}
		return fmt.Sprintf("exact: %d exported, %d lost", st.Exported, st.Dropped+st.Failed)
	}
	return s
}

func floodSDK(e sdktrace.SpanExporter, arrived func() int) sending {
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
	return sending{loop: otelLoop(p.Tracer("bench"), shape{2, 1}, true), arrived: arrived, end: func() string {
		if err := p.Shutdown(context.Background()); err != nil {
			return err.Error()
		}
		return "says nothing"
	}}
}

// floods shows what arrives of more spans than an exporter takes.
func floods(r *run) {
	kinds := []flood{
		{"flood of 8 x 100,000", 8, r.scaled(100_000), 1, 0},
		{"20 bursts of 8 x 500, 50 ms apart", 8, 500, max(1, r.scaled(20)), 50 * time.Millisecond},
	}
	places := []string{"discarding exporter", "slow exporter, 5 ms a batch", "OTLP receiver, another process"}
	for _, f := range kinds {
		fmt.Fprintf(r, "\n### Loss: %s\n\n| to | tracer | lost | ns a span | what the tracer says |\n|---|---|---:|---:|---|\n", f.name)
		for _, place := range places {
			lost := make([]float64, 2)
			for i, tracer := range []string{"OTel SDK", "lens"} {
				var s sending
				if place == places[2] {
					s = floodOverWire(tracer, f)
				} else {
					e := counting{spans: new(atomic.Int64)}
					if place == places[1] {
						e.delay = 5 * time.Millisecond
					}
					arrived := func() int { return int(e.spans.Load()) }
					if tracer == "lens" {
						s = floodLens(f.total(), []lens.Option{lens.WithSpanExporter(e)}, "", arrived)
					} else {
						s = floodSDK(e, arrived)
					}
				}
				busy := f.run(s.loop)
				says := s.end()
				lost[i] = 1 - float64(s.arrived())/float64(f.total())
				fmt.Fprintf(r, "| %s | %s | %.1f %% | %.0f | %s |\n", place, tracer, 100*lost[i], float64(busy)/float64(f.total()), says)
			}
			if lost[0] > 0 {
				r.promise(fmt.Sprintf("spans lost, %s, %s: lens / OTel SDK", f.name, place), 0, lost[1]/lost[0])
			}
		}
	}
}

func floodOverWire(tracer string, f flood) sending {
	receiving := startReceiver()
	arrived := sync.OnceValue(receiving.close)
	if tracer == "lens" {
		return floodLens(f.total(), nil, "http://"+receiving.address, arrived)
	}
	e, err := otlptracegrpc.New(context.Background(), otlptracegrpc.WithEndpoint(receiving.address), otlptracegrpc.WithInsecure())
	must(err)
	return floodSDK(e, arrived)
}
