package sampler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// DefaultInterval is the least time between two reads of [CPU] and [HostMemory].
const DefaultInterval = time.Second

// The gauge of [CPU] and its span attribute.
const (
	CPUName = "gym.process.cpu.percent"
	CPUKey  = attribute.Key("nemo.gym.cpu.percent")
)

// errNotYet is no failure: a mean needs two reads.
var errNotYet = errors.New("lens: the first read of the processor time")

// CPU samples the processor use of this process. It is safe for concurrent use. A nil *CPU is off.
type CPU struct {
	gauge  metric.Float64Gauge
	window window[float64]

	// The read before, guarded by window's lock.
	times  func() (time.Duration, error)
	primed bool
	used   time.Duration
	usedAt time.Time
}

// NewCPU creates the gauge on meter. Between two reads of the system at least interval passes; 0 is [DefaultInterval].
// The error says that the platform does not tell the processor time, or what the meter refused.
func NewCPU(meter metric.Meter, interval time.Duration) (*CPU, error) {
	return newCPU(meter, interval, cpuTime)
}

func newCPU(meter metric.Meter, interval time.Duration, times func() (time.Duration, error)) (*CPU, error) {
	interval, err := checkSampler("processor use", meter, interval)
	if err != nil {
		return nil, err
	}
	if cpuUnsupported != nil {
		return nil, cpuUnsupported
	}
	c := &CPU{times: times}
	c.window = newWindow(interval, c.percent)
	c.gauge, err = meter.Float64Gauge(CPUName, metric.WithUnit("%"),
		metric.WithDescription("Processor use of the process. 100 is one logical core."))
	if err != nil {
		return nil, fmt.Errorf("lens: create %s: %w", CPUName, err)
	}
	return c, nil
}

func checkSampler(what string, meter metric.Meter, interval time.Duration) (time.Duration, error) {
	if meter == nil {
		return 0, fmt.Errorf("lens: sampling the %s needs a meter: pass one, or leave the sampler nil, which is off", what)
	}
	if interval < 0 {
		return 0, fmt.Errorf("lens: interval %s for sampling the %s: want more than 0", interval, what)
	}
	if interval == 0 {
		interval = DefaultInterval
	}
	return interval, nil
}

// percent is the mean since the read before.
func (c *CPU) percent() (float64, error) {
	now := c.window.now()
	used, err := c.times()
	if err != nil {
		return 0, err
	}
	before, at, primed := c.used, c.usedAt, c.primed
	passed := now.Sub(at)
	if primed && passed <= 0 {
		return 0, errNotYet // the clock's resolution
	}
	c.used, c.usedAt, c.primed = used, now, true
	if !primed {
		return 0, errNotYet
	}
	return 100 * max(0, float64(used-before)) / float64(passed), nil
}

// Sample returns the processor use in percent of a logical core and records it in ctx, so that the point has ctx's span
// as exemplar. It reports false while there is no value: the first call only starts the measurement.
func (c *CPU) Sample(ctx context.Context) (float64, bool) {
	if c == nil {
		return 0, false
	}
	percent, ok := c.window.get()
	if ok {
		c.gauge.Record(ctx, percent)
	}
	return percent, ok
}

// Annotate samples, and puts the value on ctx's span.
func (c *CPU) Annotate(ctx context.Context) {
	if percent, ok := c.Sample(ctx); ok {
		trace.SpanFromContext(ctx).SetAttributes(CPUKey.Float64(percent))
	}
}
