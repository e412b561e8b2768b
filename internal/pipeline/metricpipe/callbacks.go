package metricpipe

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/report"
)

// MeterProvider is the SDK's with meters whose callbacks are guarded: one that panics
// or does not return costs what it would have observed, and the other instruments go
// on.
type MeterProvider struct {
	*sdkmetric.MeterProvider
	guard *callbackGuard
}

// Meter implements metric.MeterProvider.
func (p *MeterProvider) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return meter{p.MeterProvider.Meter(name, opts...), p.guard}
}

// callbackGuard is what all callbacks of a pipeline share.
type callbackGuard struct {
	log  *report.Log
	lost func(points int, cause error) // of the pipeline's own collections; may be nil

	hurried context.Context // done when the pipeline ends
	end     context.CancelFunc
	endBy   atomic.Pointer[time.Time] // when the callbacks of the end must be done
}

func newCallbackGuard(log *report.Log) *callbackGuard {
	g := &callbackGuard{log: log}
	g.hurried, g.end = context.WithCancel(context.Background())
	return g
}

// hurry gives all callbacks together d from now on, also those that are running.
func (g *callbackGuard) hurry(d time.Duration) {
	by := time.Now().Add(d)
	g.endBy.Store(&by)
	g.end()
}

// share is what one callback may take until then: half, as there may be others.
func (g *callbackGuard) share(until time.Time) time.Duration {
	if by := g.endBy.Load(); by != nil && by.Before(until) {
		until = *by
	}
	return max(time.Until(until)/2, time.Millisecond)
}

// callbackTime is how long a collection waits for one callback when it has no budget of
// its own.
const callbackTime = time.Second

type budgetKey struct{}

// withBudget returns a context for a collection of the pipeline's own in which
// callbacks that hang take at most d in all.
func withBudget(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, budgetKey{}, time.Now().Add(d))
}

// callback is one that was registered.
type callback struct {
	*callbackGuard
	names string // of the instruments
	n     int
	busy  atomic.Bool // a call has not come back
}

func (g *callbackGuard) callback(names ...string) *callback {
	return &callback{callbackGuard: g, names: strings.Join(names, ", "), n: len(names)}
}

// call runs f, which must not observe anything any more once open is false. It always
// returns nil, as the SDK would report an error without the name of the instrument.
func (c *callback) call(ctx context.Context, f func(ctx context.Context, open *atomic.Bool) error) error {
	until, own := ctx.Value(budgetKey{}).(time.Time)
	if !own {
		until = time.Now().Add(2 * callbackTime)
	}
	wait := c.share(until)
	what := "the callback of the metric instrument " + c.names
	if c.n > 1 {
		what = "the callback of the metric instruments " + c.names
	}
	if !c.busy.CompareAndSwap(false, true) {
		c.failed(own, fmt.Errorf("lens: %s has not returned since an earlier collection", what))
		return nil
	}
	var open atomic.Bool
	open.Store(true)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	began := time.Now()
	defer context.AfterFunc(c.hurried, func() { time.AfterFunc(c.share(until), cancel) })()
	said := false // err is the callback's own
	err, returned := outcome.Call(ctx, what, func() error {
		defer c.busy.Store(false)
		err := f(ctx, &open)
		said = true
		return err
	})
	open.Store(false)
	switch {
	case !returned:
		c.failed(own, fmt.Errorf("lens: %s has not returned within %v", what, time.Since(began).Round(time.Millisecond)))
	case err != nil:
		// A callback that returns an error says that it has no value.
		c.failed(own && !said, err)
	default:
		c.log.Recovered(c.kind(), "lens: "+what+" works again")
	}
	return nil
}

func (c *callback) kind() string { return "metric callback " + c.names }

// failed says it, and counts one lost point for each instrument, which is the least
// that is missing.
func (c *callback) failed(count bool, err error) {
	c.log.Warn(c.kind(), "lens: a callback of a metric instrument failed; its values are missing",
		"instrument", c.names, "error", outcome.Text(err))
	if count && c.lost != nil {
		c.lost(c.n, err)
	}
}

// meter is the SDK's with callbacks that are guarded.
type meter struct {
	metric.Meter
	guard *callbackGuard
}

// The gates pass observations on until the callback is given up: what comes later would
// count for the next collection.

type int64Gate struct {
	metric.Int64Observer
	open *atomic.Bool
}

func (g int64Gate) Observe(v int64, opts ...metric.ObserveOption) {
	if g.open.Load() {
		g.Int64Observer.Observe(v, opts...)
	}
}

type float64Gate struct {
	metric.Float64Observer
	open *atomic.Bool
}

func (g float64Gate) Observe(v float64, opts ...metric.ObserveOption) {
	if g.open.Load() {
		g.Float64Observer.Observe(v, opts...)
	}
}

type observerGate struct {
	metric.Observer
	open *atomic.Bool
}

func (g observerGate) ObserveInt64(i metric.Int64Observable, v int64, opts ...metric.ObserveOption) {
	if g.open.Load() {
		g.Observer.ObserveInt64(i, v, opts...)
	}
}

func (g observerGate) ObserveFloat64(i metric.Float64Observable, v float64, opts ...metric.ObserveOption) {
	if g.open.Load() {
		g.Observer.ObserveFloat64(i, v, opts...)
	}
}

func (m meter) int64(name string, f metric.Int64Callback) metric.Int64Callback {
	c := m.guard.callback(name)
	return func(ctx context.Context, o metric.Int64Observer) error {
		return c.call(ctx, func(ctx context.Context, open *atomic.Bool) error { return f(ctx, int64Gate{o, open}) })
	}
}

func (m meter) float64(name string, f metric.Float64Callback) metric.Float64Callback {
	c := m.guard.callback(name)
	return func(ctx context.Context, o metric.Float64Observer) error {
		return c.call(ctx, func(ctx context.Context, open *atomic.Bool) error { return f(ctx, float64Gate{o, open}) })
	}
}

// RegisterCallback implements metric.Meter.
func (m meter) RegisterCallback(f metric.Callback, instruments ...metric.Observable) (metric.Registration, error) {
	if f == nil {
		return m.Meter.RegisterCallback(f, instruments...)
	}
	names := make([]string, len(instruments))
	for i, o := range instruments {
		names[i] = nameOf(o)
	}
	c := m.guard.callback(names...)
	return m.Meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		return c.call(ctx, func(ctx context.Context, open *atomic.Bool) error { return f(ctx, observerGate{o, open}) })
	}, instruments...)
}

// nameOf reads the name of an instrument of the SDK, which has no method for it.
func nameOf(o metric.Observable) string {
	v := reflect.Indirect(reflect.ValueOf(o))
	if v.Kind() == reflect.Struct {
		for _, embedded := range []string{"observable", "observableID"} {
			if f := v.FieldByName(embedded); f.IsValid() {
				if v = reflect.Indirect(f); v.Kind() != reflect.Struct {
					return fmt.Sprintf("%T", o)
				}
			}
		}
		if f := v.FieldByName("name"); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
	}
	return fmt.Sprintf("%T", o)
}
