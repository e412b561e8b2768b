package metricpipe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// register has one callback for two instruments.
func register(t *testing.T, p *Pipeline, f metric.Callback) {
	t.Helper()
	m := p.Provider.Meter("test")
	i, err1 := m.Int64ObservableCounter("first")
	g, err2 := m.Float64ObservableGauge("second")
	_, err3 := m.RegisterCallback(f, i, g)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
}

// A callback that panics costs its own values: they are counted, and one warning names
// the instrument.
func TestFieldA2CallbackPanics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad  func(*testing.T, *Pipeline)
		says string
		lost uint64
	}{
		"of an instrument": {func(t *testing.T, p *Pipeline) {
			gauge(t, p, "bad", func(context.Context, metric.Int64Observer) error { panic("odd, token=abc123") })
		}, "the callback of the metric instrument bad panicked: odd", 1},
		"registered": {func(t *testing.T, p *Pipeline) {
			register(t, p, func(context.Context, metric.Observer) error { panic("odd") })
		}, "the callback of the metric instruments first, second panicked: odd", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exp := &exporter{}
			var out lines
			p := New(Settings{Exporter: exp, Interval: time.Hour, Endpoint: "http://x", Log: out.log()})
			c.bad(t, p)
			gauge(t, p, "good", func(_ context.Context, o metric.Int64Observer) error { o.Observe(7); return nil })
			add := counter(t, p, "c")
			for range 3 {
				add(1)
				err := p.ForceFlush(t.Context())
				var loss *outcome.LossError
				if !errors.As(err, &loss) || loss.Failed != c.lost || loss.Of != c.lost+2 || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error of the flush: %v", err)
				}
			}
			if err := p.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "data points lost on the way to http://x: "+c.says) {
				t.Errorf("error of the shutdown: %v", err)
			}
			if got := exp.sum("c"); got != 3 {
				t.Errorf("the counter arrived with %d, want 3", got)
			}
			if s := p.Stats(); s.LostPoints != 4*c.lost || s.Points != 3*2+1 {
				t.Errorf("stats %+v", s)
			}
			if s := out.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "callback of the metric instrument") || strings.Contains(s, "abc123") {
				t.Errorf("log %s", s)
			}
		})
	}
}

// A callback that does not return is waited for once, and the others go on. What it
// observes in the end is too late. The shutdown has its time for the export.
func TestFieldA2CallbackHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		exp := &exporter{}
		var out lines
		p := New(Settings{Exporter: exp, Interval: 10 * time.Second, Timeout: 10 * time.Second, Endpoint: "http://x", Log: out.log()})
		gauge(t, p, "bad", func(_ context.Context, o metric.Int64Observer) error { <-release; o.Observe(1000); return nil })
		gauge(t, p, "good", func(_ context.Context, o metric.Int64Observer) error { o.Observe(7); return nil })
		counter(t, p, "c")(1)
		began := time.Now()
		err := p.ForceFlush(t.Context())
		var loss *outcome.LossError
		if !errors.As(err, &loss) || loss.Failed != 1 || loss.Of != 3 || !strings.Contains(err.Error(), "the callback of the metric instrument bad has not returned within 2.5s") {
			t.Errorf("error of the flush: %v", err)
		}
		if d := time.Since(began); d != 2500*time.Millisecond {
			t.Errorf("the flush took %v", d)
		}
		began = time.Now()
		if err := p.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "bad has not returned since an earlier collection") {
			t.Errorf("error of the second flush: %v", err)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("the second flush took %v", d)
		}
		if n := strings.Count(out.String(), "\n"); n != 1 {
			t.Errorf("%d lines: %s", n, out.String())
		}
		// In time again.
		close(release)
		synctest.Wait()
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Errorf("error of the third flush: %v", err)
		}
		if err := p.Shutdown(t.Context()); !errors.As(err, &loss) || loss.Failed != 2 {
			t.Errorf("error of the shutdown: %v", err)
		}
		if got := exp.sum("c"); got != 1 {
			t.Errorf("the counter arrived with %d", got)
		}
	})
}

// One that begins to hang at the end, or just before it in a collection that is under
// way, leaves the shutdown time for the export.
func TestFieldA2HangsAtShutdown(t *testing.T) {
	t.Parallel()
	for _, under := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			exp := &exporter{}
			p := New(Settings{Exporter: exp, Interval: 30 * time.Second, Timeout: 20 * time.Second})
			for _, name := range []string{"a", "b", "c", "d"} {
				gauge(t, p, name, func(context.Context, metric.Int64Observer) error { <-release; return nil })
			}
			gauge(t, p, "good", func(_ context.Context, o metric.Int64Observer) error { o.Observe(7); return nil })
			if under {
				time.Sleep(30 * time.Second)
				synctest.Wait()
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			err := p.Shutdown(ctx)
			var loss *outcome.LossError
			if !errors.As(err, &loss) || loss.Failed < 4 || loss.Of < 5 || errors.Is(err, context.DeadlineExceeded) && time.Since(began) >= 4*time.Second {
				t.Errorf("under way %v: error %v", under, err)
			}
			if d := time.Since(began); d > 2*time.Second {
				t.Errorf("under way %v: the shutdown took %v", under, d)
			}
			if s := p.Stats(); s.Points == 0 {
				t.Errorf("under way %v: stats %+v", under, s)
			}
			close(release)
		})
	}
}

// badReader is a reader whose end panics or hangs.
type badReader struct {
	sdkmetric.Reader
	end func()
}

func (r badReader) Shutdown(context.Context) error { r.end(); return nil }

// Each reader of the program is shut down, and none costs the export anything.
func TestFieldA2ReadersOfTheProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		exp := &exporter{}
		var out lines
		last := sdkmetric.NewManualReader()
		p := New(Settings{Exporter: exp, Interval: time.Hour, Log: out.log(), Readers: []sdkmetric.Reader{
			nil, (*sdkmetric.ManualReader)(nil),
			badReader{sdkmetric.NewManualReader(), func() { panic("odd") }},
			badReader{sdkmetric.NewManualReader(), func() { <-release }},
			last,
		}})
		counter(t, p, "c")(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.Shutdown(ctx)
		if err == nil {
			t.Error("no error")
		}
		time.Sleep(time.Second)
		if exp.sum("c") != 1 {
			t.Error("nothing exported")
		}
		if err := last.Collect(t.Context(), &metricdata.ResourceMetrics{}); !errors.Is(err, sdkmetric.ErrReaderShutdown) {
			t.Errorf("the last reader was not shut down: %v", err)
		}
		if n := strings.Count(out.String(), "was left out"); n != 1 && n != 2 {
			t.Errorf("log %s", out.String())
		}
		close(release)
	})
}
