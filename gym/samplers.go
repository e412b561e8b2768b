package gym

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/gym/internal/memprofile"
	"github.com/nemo-lens/lens/gym/internal/observer"
	"github.com/nemo-lens/lens/gym/internal/sampler"
)

// Reasons why something was not started, to be told apart with [errors.Is].
var (
	ErrTelemetryOff   = errors.New("gym: telemetry is off in this process; set telemetry.enabled, and call InitTelemetry before")
	ErrMetricsOff     = errors.New("gym: this process exports no metrics; set telemetry.metrics_enabled, and start before ShutdownTelemetry")
	ErrNotEnabled     = errors.New("gym: it is not enabled in the telemetry block")
	ErrAlreadyRunning = errors.New("gym: it runs already in this process; stop it before")

	// ErrUnsupported is why there is no memory profile: it needs Linux with procfs.
	ErrUnsupported = memprofile.ErrUnsupported

	errRefused = errors.New("gym: the meter refused it")
)

// Running is a sampler that a function of this package has started. Its methods
// are safe for concurrent use, and those of a nil *Running do nothing.
type Running struct {
	slot *slot
	of   background
}

// Stop ends the sampler and waits for it. What it has measured stays in the
// metrics, for the final flush. Further calls do nothing. [ShutdownTelemetry]
// stops what still runs.
func (r *Running) Stop() {
	if r != nil {
		r.slot.stop(r.of)
	}
}

// active returns what exports metrics in this process, or why nothing does.
func active() (*telemetry, error) {
	switch t := telemetryState.current.Load(); {
	case t == nil:
		return nil, ErrTelemetryOff
	case !t.metricsActive():
		return nil, ErrMetricsOff
	default:
		return t, nil
	}
}

// launch starts what was asked for, or says in the log why it does not run.
func launch(what string, s *slot, build func() (background, error)) (*Running, error) {
	b, err := s.start(build)
	if err != nil {
		return nil, notStarted(what, err)
	}
	return &Running{slot: s, of: b}, nil
}

func notStarted(what string, reason error) error {
	slog.Info("gym: "+what+" was not started", "reason", reason)
	return fmt.Errorf("gym: %s was not started: %w", what, reason)
}

// MemoryTarget is a server whose memory is profiled: its name, type and process.
type MemoryTarget struct {
	Name string
	Type string // one of the ServerType constants; empty: not known, and not an attribute
	PID  int    // the root of the process tree
}

// StartMemoryProfiler samples the memory of the host and of the servers, each
// with the processes it has started. The supervisor
// calls it when its servers are ready, and stops it before it stops them: both
// take a sample.
//
// The environment says whether and how often, see
// [MemoryProfilingConfigFromEnv]. When there is no profile, nothing runs, the
// profiler is nil, and the error is the reason; one that was enabled and cannot
// run is logged as well. The reasons are [ErrNotEnabled], [ErrTelemetryOff],
// [ErrMetricsOff], [ErrUnsupported], [ErrAlreadyRunning], or an interval that is
// not valid.
//
// The host's usage is total minus available. A tree is the root and whatever it
// has started. RSS counts a page that n processes share n times, PSS once; where
// the PSS of a process cannot be read its tree has none. Reading PSS takes the
// kernel milliseconds for a large process, so each sample reads as many trees in
// full as fit into 0.08 % of a core, in turn, and follows the RSS of the others.
func StartMemoryProfiler(targets ...MemoryTarget) (*Running, error) {
	const what = "the memory profiler"
	cfg, err := MemoryProfilingConfigFromEnv(DefaultTelemetryConfig().MemoryProfiling)
	if !cfg.Enabled {
		return nil, ErrNotEnabled
	}
	var t *telemetry
	if err == nil {
		t, err = active()
	}
	if err != nil {
		return nil, notStarted(what, err)
	}
	roots := make([]memprofile.Target, len(targets))
	for i, target := range targets {
		roots[i] = memprofile.Target(target)
	}
	return launch(what, &t.shared.profiler, func() (background, error) {
		p, err := memprofile.New(t.meter, memprofile.Config{
			Targets: roots, Interval: seconds(cfg.IntervalSeconds), Active: t.metricsActive, Logger: slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		p.Start()
		return p, nil
	})
}

// StartObserver observes this process from the inside: scheduler, garbage
// collector, processor time, memory, threads and descriptors. The fields event_loop_sample_interval_seconds and
// event_loop_task_count, as the environment has them, say how.
//
// When metrics are not exported nothing runs, the observer is nil, and the
// error is the reason: [ErrTelemetryOff], [ErrMetricsOff], [ErrAlreadyRunning],
// or what the meter refused.
func StartObserver() (*Running, error) {
	t, err := active()
	if err != nil {
		return nil, err
	}
	cfg, _ := TelemetryConfigFromEnv(DefaultTelemetryConfig()) // what cannot be read keeps its default
	return launch("the process observer", &t.shared.observer, func() (background, error) {
		return observer.Start(t.meter, observer.Config{
			Interval: seconds(cfg.EventLoopSampleIntervalSeconds), TaskCount: cfg.EventLoopTaskCount, Logger: slog.Default(),
		})
	})
}

// CountInFlight counts the requests that next serves, as
// gym.server.requests.in_flight, when metrics are exported at the moment of the
// call; otherwise the result is next. Put it where each request passes once.
func CountInFlight(next http.Handler) http.Handler {
	t, err := active()
	if err != nil {
		return next
	}
	f := t.shared.inFlight.get(func() (*observer.InFlight, error) { return observer.NewInFlight(t.meter) })
	return f.Middleware(next)
}

// StartGPUSampler samples the graphics processors that CUDA_VISIBLE_DEVICES
// shows, with nvidia-smi. The fields gpu_sampling_enabled
// and gpu_sample_interval_s, as the environment has them, say whether and how
// often. It is the only function of this package that runs a program.
//
// When nothing runs the sampler is nil, and the error is the reason:
// [ErrTelemetryOff], [ErrMetricsOff], [ErrNotEnabled], [ErrAlreadyRunning], or
// what the meter refused. That there is no nvidia-smi shows at the first sample;
// it is logged, and the sampler ends by itself.
func StartGPUSampler() (*Running, error) { return startGPU(sampler.NVIDIASMI) }

func startGPU(run sampler.Runner) (*Running, error) {
	t, err := active()
	if err != nil {
		return nil, err
	}
	cfg, _ := TelemetryConfigFromEnv(DefaultTelemetryConfig())
	if !cfg.GPUSamplingEnabled {
		return nil, ErrNotEnabled
	}
	return launch("the sampler of graphics processors", &t.shared.gpu, func() (background, error) {
		var visible sampler.Selection
		if text, isSet := os.LookupEnv("CUDA_VISIBLE_DEVICES"); isSet {
			visible = sampler.Select(text)
		}
		g, err := sampler.NewGPU(t.meter, sampler.GPUConfig{
			Run: run, Interval: seconds(cfg.GPUSampleIntervalS), Visible: visible, Logger: slog.Default(),
		})
		if err != nil {
			return nil, err
		}
		g.Start()
		return g, nil
	})
}

// useSamplers makes the samplers that answer at a span, as far as the
// environment asks for them. They run nothing in between.
func (t *telemetry) useSamplers() {
	cfg, _ := TelemetryConfigFromEnv(DefaultTelemetryConfig())
	if !t.metricsActive() || !cfg.CPUSamplingEnabled && !cfg.MemorySamplingEnabled {
		return
	}
	guarded(func() {
		var err error
		if cfg.CPUSamplingEnabled {
			if t.shared.cpu, err = sampler.NewCPU(t.meter, seconds(cfg.CPUMinResampleIntervalS)); err != nil {
				_ = notStarted("processor sampling", err)
			}
			t.shared.cpu.Sample(context.Background()) // from here on there is a mean
		}
		if cfg.MemorySamplingEnabled {
			if t.shared.memory, err = sampler.NewHostMemory(t.meter, seconds(cfg.MemoryMinResampleIntervalS), ""); err != nil {
				_ = notStarted("sampling of the host's memory", err)
			}
		}
	})
}

// annotate samples what the environment asks for, inside the span of ctx.
func annotate(ctx context.Context) {
	t := telemetryState.current.Load()
	if !t.metricsActive() || t.shared.cpu == nil && t.shared.memory == nil {
		return
	}
	guarded(func() {
		t.shared.cpu.Annotate(ctx)
		t.shared.memory.Annotate(ctx)
	})
}

// hostAttributes describe the host's processors where they are sampled.
func hostAttributes() []attribute.KeyValue {
	if cfg, _ := TelemetryConfigFromEnv(DefaultTelemetryConfig()); !cfg.CPUSamplingEnabled || !cfg.MetricsEnabled {
		return nil
	}
	return sampler.HostCPUs()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
