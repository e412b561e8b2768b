//go:build !lens_noop && unix

package lens

import (
	"context"
	"syscall"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// What the flight recorder adds to a span that is exported, and what a span costs that
// goes to the file alone: in time of the processor, of all goroutines, because the
// export is on others.
func BenchmarkFlightRecorder(b *testing.B) {
	srv := otlptest.Start(b) // in this process, too: its part of the time is not ours
	for _, c := range []struct {
		name    string
		rank    int
		file    bool
		options []Option
	}{
		{"exported", 7, false, nil}, {"exported, with file", 7, true, nil},
		{"discarded", 7, false, []Option{WithSpanExporter(discarding{})}}, {"discarded, with file", 7, true, []Option{WithSpanExporter(discarding{})}},
		{"file alone", 0, true, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			cfg := DefaultConfig()
			cfg.Enabled, cfg.MetricsEnabled, cfg.Endpoint, cfg.SpanGroups = true, false, srv.GRPCURL(), "all"
			cfg.BlockOnFullQueue = true
			if c.file {
				cfg.FlightDir = b.TempDir()
			}
			h, err := SetupTelemetry(context.Background(), cfg, append(c.options, WithRank(c.rank, 8), discard())...)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			before := processorTime(b)
			for i := 0; b.Loop(); i++ {
				_, span := ManagedSpan(context.Background(), Step, "train.step", attribute.Int("dl.iteration", i), attribute.String("phase", "warm-up"))
				End(span, nil)
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
			_ = h.Shutdown(context.Background())
		})
	}
}

// discarding is an exporter that costs nothing.
type discarding struct{}

func (discarding) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discarding) Shutdown(context.Context) error                             { return nil }

func processorTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
