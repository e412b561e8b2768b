package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
)

// sample is the memory of a process at one moment.
type sample struct {
	seconds float64
	spans   int64
	mb      float64
}

// hold makes spans through an exporter that takes 2 ms for a batch, and prints a
// sample every so often: the seconds, the spans made, the resident memory in MB.
// A thousand spans stay open.
func hold(tracer string, spans int) {
	e := counting{2 * time.Millisecond, new(atomic.Int64)}
	var t trace.Tracer
	var stop func()
	var loop func(int)
	if tracer == "lens" {
		stop = setUpLens("per_step", lens.WithSpanExporter(e))
		t, loop = lens.Tracer(), lensLoop(lens.Step, shape{2, 1})
	} else {
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e))
		t, stop = p.Tracer("bench"), func() { must(p.Shutdown(context.Background())) }
		loop = otelLoop(t, shape{2, 1}, true)
	}
	open := make([]trace.Span, 1000)
	for i := range open {
		_, open[i] = t.Start(context.Background(), "train.run", trace.WithAttributes(attributesOf(shape{2, 1}, i)...))
	}
	start, last := time.Now(), time.Time{}
	const part = 2000
	for made := 0; made < spans; made += part {
		if now := time.Now(); now.Sub(last) >= 50*time.Millisecond {
			last = now
			fmt.Printf("%.3f,%d,%.2f\n", now.Sub(start).Seconds(), made, resident())
		}
		loop(part)
	}
	fmt.Printf("%.3f,%d,%.2f\n", time.Since(start).Seconds(), spans, resident())
	for _, s := range open {
		s.End()
	}
	stop()
	fmt.Printf("arrived,%d\n", e.spans.Load())
}

// memory shows that resident memory does not grow with the number of spans.
func memory(r *run) {
	spans := max(20_000, r.scaled(10_000_000))
	self, err := os.Executable()
	must(err)
	fmt.Fprintf(r, "\n### Resident memory, %d spans through an exporter that takes 2 ms for a batch, 1000 spans open\n\n", spans)
	fmt.Fprint(r, "| tracer | MB after a tenth | MB at most after that | spans a second | arrived |\n|---|---:|---:|---:|---:|\n")
	tracers := []string{"OTel SDK", "lens"}
	curves := make([][]sample, len(tracers))
	for i, tracer := range tracers {
		cmd := exec.Command(self, "-hold", tracer, "-spans", fmt.Sprint(spans))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		must(err)
		arrived := 0
		for line := range strings.Lines(string(out)) {
			if count, ok := strings.CutPrefix(line, "arrived,"); ok {
				_, err = fmt.Sscan(count, &arrived)
				must(err)
				continue
			}
			var s sample
			_, err = fmt.Sscanf(line, "%g,%d,%g\n", &s.seconds, &s.spans, &s.mb)
			must(err)
			curves[i] = append(curves[i], s)
		}
		var early, most float64
		for _, s := range curves[i] {
			if s.spans <= int64(spans/10) {
				early = max(early, s.mb)
			} else {
				most = max(most, s.mb)
			}
		}
		last := curves[i][len(curves[i])-1]
		fmt.Fprintf(r, "| %s | %.1f | %.1f | %.0f | %.1f %% |\n", tracer, early, most, float64(last.spans)/last.seconds, 100*float64(arrived)/float64(spans))
		if tracer == "lens" {
			r.promise("resident memory, most of all / most in the first tenth of the spans: lens", 0, most/early)
		}
	}
	if r.plot != "" {
		must(plot(r.plot, tracers, curves))
	}
}
