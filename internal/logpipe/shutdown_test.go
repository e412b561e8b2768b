package logpipe

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// All callers get the result of the same work.
func TestShutdownIsShared(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	exp := &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return errors.New("refused") }}
	p := New(Settings{Exporter: exp})
	emit(t.Context(), p, 5)
	var mu sync.Mutex
	results := map[error]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := p.Shutdown(context.Background())
			mu.Lock()
			defer mu.Unlock()
			results[err]++
		})
	}
	until(t, "at the exporter", func() bool { return len(exp.calls()) == 1 })
	close(release)
	wg.Wait()
	results[p.Shutdown(context.Background())]++
	if len(results) != 1 || exp.shutdowns() != 1 {
		t.Errorf("%d results: %v; %d shutdowns of the exporter", len(results), results, exp.shutdowns())
	}
	emit(t.Context(), p, 5)
	wantStats(t, p, Stats{Emitted: 5, Failed: 5})
}

// A caller with less time than the work needs gets a verdict, and one with more the
// result.
func TestShorterDeadline(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	exp := &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return nil }}
	p := New(Settings{Exporter: exp})
	emit(t.Context(), p, 5)
	patient := make(chan error)
	go func() { patient <- p.Shutdown(context.Background()) }()
	until(t, "at the exporter", func() bool { return len(exp.calls()) == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var loss *LossError
	if err := p.Shutdown(ctx); !errors.As(err, &loss) || loss.Failed != 5 || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	wantStats(t, p, Stats{Emitted: 5, Queued: 5})
	close(release)
	if err := <-patient; err != nil {
		t.Errorf("error %v", err)
	}
	wantStats(t, p, Stats{Emitted: 5, Exported: 5})
}

// An exporter that never comes back, whatever its context says, keeps nobody.
func TestHangingExporter(t *testing.T) {
	t.Parallel()
	for name, hanging := range map[string]func(release chan struct{}) *exporter{
		"in Export": func(release chan struct{}) *exporter {
			return &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return nil }}
		},
		"in Shutdown": func(release chan struct{}) *exporter {
			return &exporter{doDown: func(context.Context) error { <-release; return nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			t.Cleanup(func() { close(release) }) // goleak
			exp := hanging(release)
			p := New(Settings{Exporter: exp, Endpoint: "grpc://there", Batch: Config{BatchSize: 5}})
			emit(t.Context(), p, 12)
			until(t, "at the exporter", func() bool { return len(exp.calls()) > 0 })
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			err := p.Shutdown(ctx)
			if err == nil || !strings.Contains(err.Error(), "grpc://there") || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			s := p.Stats()
			checkSum(t, s)
			if exp.do != nil {
				var loss *LossError
				if !errors.As(err, &loss) || loss.Failed != 5 || loss.Dropped != 7 || loss.Of != 12 {
					t.Errorf("error %v", err)
				}
				wantStats(t, p, Stats{Emitted: 12, Failed: 5, Dropped: 7})
			}
			until(t, "over", func() bool { return p.end.Context().Err() != nil })
			if again := p.Shutdown(context.Background()); again == nil {
				t.Error("the second caller got no error")
			}
			if got := p.Stats(); got != s {
				t.Errorf("stats %+v, then %+v", s, got)
			}
		})
	}
}

// A flush that runs out of time says how much still waits, and loses nothing.
func TestFlushOutOfTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	exp := &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return nil }}
	p := New(Settings{Exporter: exp, Batch: Config{BatchSize: 2}})
	emit(t.Context(), p, 5)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	err := p.ForceFlush(ctx)
	var loss *LossError
	if err == nil || errors.As(err, &loss) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "5 log records not exported yet") {
		t.Errorf("error %v", err)
	}
	close(release)
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Errorf("error %v", err)
	}
	wantStats(t, p, Stats{Emitted: 5, Exported: 5})
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Errorf("after the shutdown: %v", err)
	}
}
