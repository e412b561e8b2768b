package metricpipe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// An exporter that never comes back, whatever its context says, keeps nobody, and
// the last collection is counted too.
func TestHangingExporter(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) }) // goleak
	exp := &exporter{do: func(context.Context, *metricdata.ResourceMetrics) error { <-release; return nil }}
	p := New(Settings{Exporter: exp, Endpoint: "grpc://there", Interval: time.Millisecond})
	add, add2 := counter(t, p, "a"), counter(t, p, "b")
	add(1)
	until(t, "at the exporter", func() bool { return exp.calls() == 1 })
	add(1)
	add2(1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	err := p.Shutdown(ctx)
	var loss *outcome.LossError
	if !errors.As(err, &loss) || loss.Failed != 3 || loss.Of != 3 || !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "lens: 3 of 3 data points lost on the way to grpc://there") {
		t.Errorf("error %v", err)
	}
	if s := p.Stats(); s.LostPoints != 3 {
		t.Errorf("stats %+v", s)
	}
	until(t, "over", func() bool { return p.end.Context().Err() != nil })
	if err := p.Shutdown(context.Background()); !errors.As(err, &loss) || loss.Failed != 3 {
		t.Errorf("second caller: %v", err)
	}
	if s := numbersOf(p.Stats()); s != (Stats{Exports: 1, Failed: 1, LostPoints: 3}) {
		t.Errorf("stats %+v", s)
	}
	until(t, "the exporter was shut down", func() bool { return exp.shutdowns() == 1 })
}

func TestHangingShutdownOfExporter(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	exp := &exporter{doDown: func(context.Context) error { <-release; return nil }}
	p := New(Settings{Exporter: exp, Interval: time.Hour})
	counter(t, p, "c")(1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if s := numbersOf(p.Stats()); s != (Stats{Exports: 1, Points: 1}) || exp.sum("c") != 1 {
		t.Errorf("stats %+v", s)
	}
}

// A shutdown during an export waits for it, and then sends the last collection.
func TestShutdownDuringExport(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	exp := &exporter{do: func(context.Context, *metricdata.ResourceMetrics) error { <-release; return nil }}
	p := New(Settings{Exporter: exp, Interval: time.Millisecond})
	add := counter(t, p, "c")
	add(1)
	until(t, "at the exporter", func() bool { return exp.calls() == 1 })
	add(2)
	result := make(chan error)
	go func() { result <- p.Shutdown(context.Background()) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller without time: %v", err)
	}
	close(release)
	if err := <-result; err != nil {
		t.Error(err)
	}
	if got := exp.sum("c"); got != 3 {
		t.Errorf("sum %d", got)
	}
}
