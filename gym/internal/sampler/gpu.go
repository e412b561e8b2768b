package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
)

const (
	// DefaultGPUInterval is the time between two samples.
	DefaultGPUInterval = 10 * time.Second

	runTimeout  = 5 * time.Second // for one run of the program
	stopTimeout = 2 * time.Second // for the last run to end
)

// The gauges of [GPU] and their attributes.
const (
	GPUUtilizationName = "gym.process.gpu.utilization_percent"
	GPUMemoryUsedName  = "gym.process.gpu.memory_used_mib"
	GPUMemoryTotalName = "gym.process.gpu.memory_total_mib"

	GPUIndexKey = attribute.Key("nemo.gym.gpu.index")
	GPUUUIDKey  = attribute.Key("nemo.gym.gpu.uuid")
)

// GPUConfig says how to sample.
type GPUConfig struct {
	// Run asks the graphics processors, within the context's time. [NVIDIASMI] is the usual one. It must be given: no
	// program is run unasked.
	Run Runner

	// Interval is the time between two samples. 0 is [DefaultGPUInterval].
	Interval time.Duration

	// Visible restricts what is reported to what CUDA_VISIBLE_DEVICES shows. See [Select]. The zero value reports all.
	Visible Selection

	// Logger gets failed samples at debug level, one line if the program is missing, and one warning if it warns. Nil
	// logs nothing.
	Logger *slog.Logger
}

// GPU samples in a goroutine, from Start to Stop. It is safe for concurrent use.
type GPU struct {
	run      Runner
	interval time.Duration
	selected Selection
	log      *slog.Logger

	control sync.Mutex // serialises Start and Stop
	cancel  context.CancelFunc
	ended   chan struct{}
	missing atomic.Bool // the program; for good
	warned  atomic.Bool

	mu           sync.Mutex
	devices      []Device
	sampled      bool
	registration metric.Registration
}

// NewGPU creates the gauges on meter. It starts nothing.
func NewGPU(meter metric.Meter, cfg GPUConfig) (*GPU, error) {
	switch {
	case meter == nil:
		return nil, errors.New("lens: sampling graphics processors needs a meter")
	case cfg.Run == nil:
		return nil, errors.New("lens: sampling graphics processors needs GPUConfig.Run: pass sampler.NVIDIASMI to have nvidia-smi run")
	case cfg.Interval < 0:
		return nil, fmt.Errorf("lens: interval %s for sampling graphics processors: want more than 0", cfg.Interval)
	case cfg.Interval == 0:
		cfg.Interval = DefaultGPUInterval
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	g := &GPU{run: cfg.Run, interval: cfg.Interval, selected: cfg.Visible, log: cfg.Logger}
	return g, g.register(meter)
}

func (g *GPU) register(meter metric.Meter) error {
	var errs []error
	gauge := func(name, unit, description string) metric.Float64ObservableGauge {
		o, err := meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		if err != nil {
			errs = append(errs, fmt.Errorf("lens: create %s: %w", name, err))
		}
		return o
	}
	utilization := gauge(GPUUtilizationName, "%", "Share of the time the device was busy.")
	used := gauge(GPUMemoryUsedName, "MiB", "Memory of the device in use.")
	total := gauge(GPUMemoryTotalName, "MiB", "Memory of the device.")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var err error
	g.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		devices, _ := g.latest()
		for _, d := range devices {
			attrs := []attribute.KeyValue{GPUIndexKey.Int(d.Index)}
			if d.UUID != "" {
				attrs = append(attrs, GPUUUIDKey.String(d.UUID))
			}
			of := metric.WithAttributes(attrs...)
			for _, v := range []struct {
				gauge metric.Float64ObservableGauge
				value float64
			}{{utilization, d.Utilization}, {used, d.MemoryUsed}, {total, d.MemoryTotal}} {
				if !math.IsNaN(v.value) {
					o.ObserveFloat64(v.gauge, v.value, of)
				}
			}
		}
		return nil
	}, utilization, used, total)
	if err != nil {
		return fmt.Errorf("lens: observe the graphics processors: %w", err)
	}
	return nil
}

// Start takes a sample at once, in the goroutine it starts, and one each interval from then on. Further calls do nothing.
// After a Stop it starts anew, unless the program turned out not to exist.
func (g *GPU) Start() {
	g.control.Lock()
	defer g.control.Unlock()
	if g.cancel != nil || g.missing.Load() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel, g.ended = cancel, make(chan struct{})
	go g.loop(ctx, g.ended)
}

// Stop ends the goroutine, with a run that is under way, and waits for it for at most two seconds. Without Start it does
// nothing. The gauges keep the latest sample until [GPU.Unregister].
func (g *GPU) Stop() {
	g.control.Lock()
	defer g.control.Unlock()
	if g.cancel == nil {
		return
	}
	g.cancel()
	g.cancel = nil
	limit := time.NewTimer(stopTimeout)
	defer limit.Stop()
	select {
	case <-g.ended:
	case <-limit.C:
		g.log.Debug("lens: the program that asks the graphics processors did not end in time")
	}
}

// Unregister takes the gauges off the meter.
func (g *GPU) Unregister() error { return g.registration.Unregister() }

// UtilizationSum returns the sum of the utilization of the visible devices, 100 for one that is busy all the time, and
// whether there has been a sample. A device whose utilization is not known counts as 0.
func (g *GPU) UtilizationSum() (float64, bool) {
	devices, ok := g.latest()
	sum := 0.0
	for _, d := range devices {
		if !math.IsNaN(d.Utilization) {
			sum += d.Utilization
		}
	}
	return sum, ok
}

func (g *GPU) latest() ([]Device, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.devices, g.sampled
}

func (g *GPU) loop(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	tick := time.NewTicker(g.interval)
	defer tick.Stop()
	for g.sample(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sample reports false when there is no point in another one: the program does not exist.
func (g *GPU) sample(ctx context.Context) bool {
	runCtx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	out, err := g.run(runCtx)
	switch {
	case nvidia.IsWarning(err):
		if !g.warned.Swap(true) {
			g.log.Warn("lens: nvidia-smi warns that the infoROM of a graphics processor is corrupted; its samples are used", "error", err)
		}
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		g.missing.Store(true)
		g.log.Info("lens: graphics processors are not sampled: the program to ask them does not exist", "error", err)
		return false
	case err != nil:
		if ctx.Err() == nil {
			g.log.Debug("lens: a sample of the graphics processors failed", "error", err)
		}
		return true
	}
	devices := g.selected.Of(ParseDevices(string(out))) // a new one each time: readers hold the one before
	g.mu.Lock()
	defer g.mu.Unlock()
	g.devices, g.sampled = devices, true
	return true
}
