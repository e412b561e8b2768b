package globals

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
)

// observable is an instrument that callbacks report to.
type observable[I metric.Observable] struct {
	instrument[I]
	id string // kind and name
}

func (o *observable[I]) identity() string { return o.id }

// in returns the instrument of one provider. While that provider collects, a new one
// cannot be made: the SDK holds its lock.
func (o *observable[I]) in(to *target, collecting bool) metric.Observable {
	if b := o.last.Load(); b != nil && b.to == to {
		return b.I
	}
	if collecting {
		return nil
	}
	if b, _ := o.bind(to); b != nil { // an error is the one that the caller got, or that Use reports
		return b.I
	}
	return nil
}

type rebound interface {
	identity() string
	in(to *target, collecting bool) metric.Observable
}

// initObservable prepares an observable. Functions of its own are registered as any other
// callback is.
func initObservable[I metric.Observable, F any](o *observable[I], m *meter, kind, name string, functions []F,
	call func(context.Context, F, metric.Observer, metric.Observable) error, make func(metric.Meter) (I, error),
) error {
	o.id = kind + " " + name
	if err := o.init(m, make); err != nil || len(functions) == 0 {
		return err
	}
	c := &callback{identity: callbackIdentity{scope: m.scope, instruments: o.id}}
	c.register = func(to *target) (metric.Registration, error) {
		i := o.in(to, false)
		return m.of(to).RegisterCallback(func(ctx context.Context, obs metric.Observer) error {
			if !c.called(to) {
				return nil
			}
			var errs []error
			for _, f := range functions {
				errs = append(errs, call(ctx, f, obs, i))
			}
			return errors.Join(errs...)
		}, i)
	}
	return m.from.add(c)
}

func callInt64(ctx context.Context, f metric.Int64Callback, o metric.Observer, i metric.Observable) error {
	return f(ctx, int64Observer{o: o, i: i.(metric.Int64Observable)})
}

func callFloat64(ctx context.Context, f metric.Float64Callback, o metric.Observer, i metric.Observable) error {
	return f(ctx, float64Observer{o: o, i: i.(metric.Float64Observable)})
}

type (
	int64Observer struct {
		embedded.Int64Observer
		o metric.Observer
		i metric.Int64Observable
	}
	float64Observer struct {
		embedded.Float64Observer
		o metric.Observer
		i metric.Float64Observable
	}
)

// Observe implements metric.Int64Observer.
func (o int64Observer) Observe(n int64, opts ...metric.ObserveOption) {
	o.o.ObserveInt64(o.i, n, opts...)
}

// Observe implements metric.Float64Observer.
func (o float64Observer) Observe(n float64, opts ...metric.ObserveOption) {
	o.o.ObserveFloat64(o.i, n, opts...)
}

type (
	int64ObservableCounter struct {
		embedded.Int64ObservableCounter
		metric.Int64Observable
		observable[metric.Int64ObservableCounter]
	}
	int64ObservableUpDownCounter struct {
		embedded.Int64ObservableUpDownCounter
		metric.Int64Observable
		observable[metric.Int64ObservableUpDownCounter]
	}
	int64ObservableGauge struct {
		embedded.Int64ObservableGauge
		metric.Int64Observable
		observable[metric.Int64ObservableGauge]
	}
	float64ObservableCounter struct {
		embedded.Float64ObservableCounter
		metric.Float64Observable
		observable[metric.Float64ObservableCounter]
	}
	float64ObservableUpDownCounter struct {
		embedded.Float64ObservableUpDownCounter
		metric.Float64Observable
		observable[metric.Float64ObservableUpDownCounter]
	}
	float64ObservableGauge struct {
		embedded.Float64ObservableGauge
		metric.Float64Observable
		observable[metric.Float64ObservableGauge]
	}
)

func (m *meter) Int64ObservableCounter(name string, opts ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	o, c := new(int64ObservableCounter), metric.NewInt64ObservableCounterConfig(opts...)
	return o, initObservable(&o.observable, m, "int64 counter", name, c.Callbacks(), callInt64,
		func(to metric.Meter) (metric.Int64ObservableCounter, error) {
			return to.Int64ObservableCounter(name, metric.WithDescription(c.Description()), metric.WithUnit(c.Unit()))
		})
}

func (m *meter) Int64ObservableUpDownCounter(name string, opts ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	o, c := new(int64ObservableUpDownCounter), metric.NewInt64ObservableUpDownCounterConfig(opts...)
	return o, initObservable(&o.observable, m, "int64 up-down counter", name, c.Callbacks(), callInt64,
		func(to metric.Meter) (metric.Int64ObservableUpDownCounter, error) {
			return to.Int64ObservableUpDownCounter(name, metric.WithDescription(c.Description()), metric.WithUnit(c.Unit()))
		})
}

func (m *meter) Int64ObservableGauge(name string, opts ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	o, c := new(int64ObservableGauge), metric.NewInt64ObservableGaugeConfig(opts...)
	return o, initObservable(&o.observable, m, "int64 gauge", name, c.Callbacks(), callInt64,
		func(to metric.Meter) (metric.Int64ObservableGauge, error) {
			return to.Int64ObservableGauge(name, metric.WithDescription(c.Description()), metric.WithUnit(c.Unit()))
		})
}

func (m *meter) Float64ObservableCounter(name string, opts ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	o, c := new(float64ObservableCounter), metric.NewFloat64ObservableCounterConfig(opts...)
	return o, initObservable(&o.observable, m, "float64 counter", name, c.Callbacks(), callFloat64,
		func(to metric.Meter) (metric.Float64ObservableCounter, error) {
			return to.Float64ObservableCounter(name, metric.WithDescription(c.Description()), metric.WithUnit(c.Unit()))
		})
}

func (m *meter) Float64ObservableUpDownCounter(name string, opts ...metric.Float64ObservableUpDownCounterOption) (metric.Float64ObservableUpDownCounter, error) {
	o, c := new(float64ObservableUpDownCounter), metric.NewFloat64ObservableUpDownCounterConfig(opts...)
	return o, initObservable(&o.observable, m, "float64 up-down counter", name, c.Callbacks(), callFloat64,
		func(to metric.Meter) (metric.Float64ObservableUpDownCounter, error) {
			return to.Float64ObservableUpDownCounter(name, metric.WithDescription(c.Description()), metric.WithUnit(c.Unit()))
		})
}

func (m *meter) Float64ObservableGauge(name string, opts ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	o, c := new(float64ObservableGauge), metric.NewFloat64ObservableGaugeConfig(opts...)
	return o, initObservable(&o.observable, m, "float64 gauge", name, c.Callbacks(), callFloat64,
		func(to metric.Meter) (metric.Float64ObservableGauge, error) {
			return to.Float64ObservableGauge(name, metric.WithDescription(c.Description()), metric.WithUnit(c.Unit()))
		})
}

// RegisterCallback implements metric.Meter.
func (m *meter) RegisterCallback(f metric.Callback, instruments ...metric.Observable) (metric.Registration, error) {
	instruments = slices.Clone(instruments)
	names := []string{}
	for _, i := range instruments {
		if i, ok := i.(rebound); ok {
			names = append(names, i.identity())
		}
	}
	c := &callback{identity: callbackIdentity{m.scope, strings.Join(names, "\n"), fmt.Sprint(reflect.ValueOf(f).Pointer())}}
	c.register = func(to *target) (metric.Registration, error) {
		list := slices.Clone(instruments)
		for i, o := range list {
			if o, ok := o.(rebound); ok {
				list[i] = o.in(to, false)
			}
		}
		return m.of(to).RegisterCallback(func(ctx context.Context, o metric.Observer) error {
			if !c.called(to) {
				return nil
			}
			return f(ctx, observer{obs: o, to: to})
		}, list...)
	}
	return registration{c: c}, m.from.add(c)
}

// observer gives a provider's observer that provider's instruments.
type observer struct {
	embedded.Observer
	obs metric.Observer
	to  *target
}

// ObserveInt64 implements metric.Observer.
func (o observer) ObserveInt64(i metric.Int64Observable, n int64, opts ...metric.ObserveOption) {
	if r, ok := i.(rebound); ok {
		if own, ok := r.in(o.to, true).(metric.Int64Observable); ok {
			i = own
		}
	}
	o.obs.ObserveInt64(i, n, opts...)
}

// ObserveFloat64 implements metric.Observer.
func (o observer) ObserveFloat64(i metric.Float64Observable, n float64, opts ...metric.ObserveOption) {
	if r, ok := i.(rebound); ok {
		if own, ok := r.in(o.to, true).(metric.Float64Observable); ok {
			i = own
		}
	}
	o.obs.ObserveFloat64(i, n, opts...)
}
