package metricpipe

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// Collected at the interval, at a flush and at the end, nothing is lost or doubled.
func TestEverythingArrivesOnce(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Interval: time.Millisecond, Resource: resource.NewSchemaless(attribute.String("service.name", "svc"))})
	add := counter(t, p, "c")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 500 {
				add(1)
				if i%100 == 0 {
					if err := p.ForceFlush(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	until(t, "one at the interval", func() bool { return exp.sum("c") == 2000 })
	add(7)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := exp.sum("c"); got != 2007 {
		t.Errorf("sum %d, want 2007", got)
	}
	s := p.Stats()
	if s.Exports == 0 || s.Failed != 0 || s.LostPoints != 0 || s.Points < s.Exports || s.LastDuration <= 0 || s.TotalDuration < s.LastDuration {
		t.Errorf("stats %+v", s)
	}
	if v, _ := exp.taken[0].Resource.Set().Value("service.name"); v.AsString() != "svc" {
		t.Errorf("resource %v", exp.taken[0].Resource)
	}
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Errorf("after the shutdown: %v", err)
	}
}

func TestFinalCollection(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Interval: time.Hour})
	counter(t, p, "c")(3)
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
	wg.Wait()
	if exp.sum("c") != 3 || exp.shutdowns() != 1 || results[nil] != 8 {
		t.Errorf("sum %d, %d shutdowns, results %v", exp.sum("c"), exp.shutdowns(), results)
	}
	if got := numbersOf(p.Stats()); got != (Stats{Exports: 1, Points: 1}) {
		t.Errorf("stats %+v", got)
	}
}

// Nothing measured, nothing sent.
func TestEmptyCollectionIsNotSent(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Interval: time.Millisecond})
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if exp.calls() != 0 || p.Stats() != (Stats{}) {
		t.Errorf("%d calls, stats %+v", exp.calls(), p.Stats())
	}
}

// Whatever an exporter does, it costs the points of its call and is told.
func TestBadExporters(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause, token=abc123")
	for name, c := range map[string]struct {
		exp  sdkmetric.Exporter
		lost uint64
		want string
	}{
		"error":     {&exporter{do: func(context.Context, *metricdata.ResourceMetrics) error { return cause }}, 2, "the cause, token=[REDACTED]"},
		"panic":     {&exporter{do: func(context.Context, *metricdata.ResourceMetrics) error { panic(cause) }}, 2, "panicked: the cause"},
		"goexit":    {&exporter{do: func(context.Context, *metricdata.ResourceMetrics) error { runtime.Goexit(); return nil }}, 2, "Goexit"},
		"partial":   {&exporter{do: func(context.Context, *metricdata.ResourceMetrics) error { return partial(1) }}, 1, "partly refused"},
		"typed nil": {(*exporter)(nil), 2, "panicked"},
		"selectors": {sour{}, 2, "Export of the metric exporter metricpipe.sour panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out lines
			p := New(Settings{Exporter: c.exp, Endpoint: "http://there", Interval: time.Hour, Log: out.log()})
			add, add2 := counter(t, p, "a"), counter(t, p, "b")
			add(1)
			add2(1)
			err := p.ForceFlush(t.Context())
			var loss *outcome.LossError
			if !errors.As(err, &loss) || loss.Failed != c.lost || loss.Of != 2 || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "http://there") || strings.Contains(err.Error(), "abc123") {
				t.Errorf("error %v", err)
			}
			if s := p.Stats(); s.Exports != 1 || s.Failed != 1 || s.LostPoints != c.lost || s.Points != 2-c.lost {
				t.Errorf("stats %+v", s)
			}
			if s := out.String(); !strings.Contains(s, "data points are being lost on the way to http://there") || strings.Contains(s, "abc123") {
				t.Errorf("log: %s", s)
			}
			if name == "error" && !errors.Is(err, cause) {
				t.Error("the cause is lost")
			}
			add(1)
			if err := p.Shutdown(t.Context()); !errors.As(err, &loss) || loss.Of < 3 || loss.Failed <= c.lost-1 {
				t.Errorf("error of the shutdown: %v", err)
			}
		})
	}
}

// sour panics in everything.
type sour struct{}

func (sour) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality { panic("sour") }
func (sour) Aggregation(sdkmetric.InstrumentKind) sdkmetric.Aggregation  { panic("sour") }
func (sour) Export(context.Context, *metricdata.ResourceMetrics) error   { panic("sour") }
func (sour) ForceFlush(context.Context) error                            { panic("sour") }
func (sour) Shutdown(context.Context) error                              { panic("sour") }

// A hundred failures are a line or two, and the end of them is one.
func TestLossIsReportedOnce(t *testing.T) {
	t.Parallel()
	var out lines
	var mu sync.Mutex
	bad := true
	exp := &exporter{do: func(context.Context, *metricdata.ResourceMetrics) error {
		mu.Lock()
		defer mu.Unlock()
		if bad {
			return errors.New("refused")
		}
		return nil
	}}
	p := New(Settings{Exporter: exp, Interval: time.Hour, Log: out.log()})
	add := counter(t, p, "c")
	for range 100 {
		add(1)
		if err := p.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "1 of 1 data points lost: refused") {
			t.Fatalf("error %v", err)
		}
	}
	mu.Lock()
	bad = false
	mu.Unlock()
	add(1)
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Errorf("the loss was reported already: %v", err)
	}
	err := p.Shutdown(t.Context())
	var loss *outcome.LossError
	if !errors.As(err, &loss) || loss.Failed != 100 || loss.Of != 101 {
		t.Errorf("error %v", err)
	}
	if s := out.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "exported again") || !strings.Contains(s, "failures=100") {
		t.Errorf("log:\n%s", s)
	}
}

// Callbacks are the program's: one that has no value costs its own only.
func TestBadCallbacks(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	var out lines
	p := New(Settings{Exporter: exp, Interval: time.Hour, Log: out.log()})
	counter(t, p, "c")(5)
	fail := errors.New("no sensor")
	gauge(t, p, "g", func(context.Context, metric.Int64Observer) error { return fail })
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	if exp.sum("c") != 5 || !strings.Contains(out.String(), "no sensor") {
		t.Errorf("sum %d, log %s", exp.sum("c"), out.String())
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNothingStartedWithoutExporter(t *testing.T) {
	t.Parallel()
	p := New(Settings{})
	counter(t, p, "c")(1)
	if err := p.ForceFlush(t.Context()); err != nil || p.Stats() != (Stats{}) {
		t.Errorf("error %v, stats %+v", err, p.Stats())
	}
	// No Shutdown: goleak finds whatever was started.
}

// The program's reader gets everything, beside the exporter and without.
func TestReaders(t *testing.T) {
	t.Parallel()
	for name, exp := range map[string]sdkmetric.Exporter{"alone": nil, "beside": &exporter{}} {
		manual := sdkmetric.NewManualReader()
		own := &exporter{}
		periodic := sdkmetric.NewPeriodicReader(own, sdkmetric.WithInterval(time.Hour))
		set := Settings{Readers: []sdkmetric.Reader{manual, periodic}, Interval: time.Hour}
		if exp != nil {
			set.Exporter = exp
		}
		p := New(set)
		counter(t, p, "c")(4)
		var rm metricdata.ResourceMetrics
		if err := manual.Collect(t.Context(), &rm); err != nil || points(&rm) != 1 {
			t.Errorf("%s: %d points, error %v", name, points(&rm), err)
		}
		if err := p.ForceFlush(t.Context()); err != nil || own.sum("c") != 4 {
			t.Errorf("%s: sum %d, error %v", name, own.sum("c"), err)
		}
		if err := p.Shutdown(t.Context()); err != nil || own.shutdowns() != 1 {
			t.Errorf("%s: %d shutdowns, error %v", name, own.shutdowns(), err)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Errorf("%s: again: %v", name, err)
		}
	}
}

// The idiom of programs that know only the provider.
func TestProviderFlushes(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Interval: time.Hour})
	counter(t, p, "c")(4)
	if err := p.Provider.ForceFlush(t.Context()); err != nil || exp.sum("c") != 4 {
		t.Errorf("sum %d, error %v", exp.sum("c"), err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
