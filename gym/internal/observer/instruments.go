package observer

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Names of the instruments and of their attributes.
const (
	LagName              = "gym.event_loop.lag_ms"
	TasksName            = "gym.event_loop.tasks"
	StatesName           = "gym.scheduler.goroutines"
	ScheduleDurationName = "go.schedule.duration"
	GoroutinesName       = "go.goroutine.count"
	GCPauseName          = "go.memory.gc.pause.duration"
	GCCyclesName         = "go.memory.gc.cycles"
	CPUTimeName          = "process.cpu.time"
	MemoryName           = "process.memory.usage"
	ThreadsName          = "process.thread.count"
	DescriptorsName      = "process.open_file_descriptor.count"
	InFlightName         = "gym.server.requests.in_flight"

	StateKey   = attribute.Key("nemo.gym.scheduler.state")
	CPUModeKey = attribute.Key("cpu.mode")
)

// LagBounds returns the bucket bounds of the lateness histogram, in ms.
func LagBounds() []float64 {
	return []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}
}

// SecondsBounds returns the bucket bounds of the scheduler's and the collector's histograms, in s.
func SecondsBounds() []float64 {
	return []float64{1e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}
}

// instruments collects what is created on a meter, with its errors, and what each collection has to observe.
type instruments struct {
	meter       metric.Meter
	errs        []error
	observables []metric.Observable
	observe     []func(metric.Observer)
}

func (i *instruments) check(name string, err error) {
	if err != nil {
		i.errs = append(i.errs, fmt.Errorf("lens: create %s: %w", name, err))
	}
}

func (i *instruments) histogram(name, unit, description string, bounds []float64) metric.Float64Histogram {
	h, err := i.meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	i.check(name, err)
	return h
}

// upDown observes the value of read at each collection, unless read fails.
func (i *instruments) upDown(name, unit, description string, read func() (int64, bool)) {
	c, err := i.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	i.check(name, err)
	i.int(c, read)
}

func (i *instruments) int(c metric.Int64Observable, read func() (int64, bool), opts ...metric.ObserveOption) {
	i.observables = append(i.observables, c)
	i.observe = append(i.observe, func(o metric.Observer) {
		if v, ok := read(); ok {
			o.ObserveInt64(c, v, opts...)
		}
	})
}

func (i *instruments) register() (metric.Registration, error) {
	if err := errors.Join(i.errs...); err != nil {
		return nil, err
	}
	observe := i.observe
	r, err := i.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, f := range observe {
			f(o)
		}
		return nil
	}, i.observables...)
	if err != nil {
		return nil, fmt.Errorf("lens: observe the process: %w", err)
	}
	return r, nil
}
