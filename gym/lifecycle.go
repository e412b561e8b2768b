package gym

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/semconv"
)

// The values of nemo.gym.server.type.
const (
	ServerTypeResources  = "resources_servers"
	ServerTypeAgent      = "responses_api_agents"
	ServerTypeModel      = "responses_api_models"
	ServerTypeSupervisor = "supervisor" // also the name of the supervisor
)

// ServerTypeOf returns what the method GymServerType of a server returns, also
// of one that it embeds, or "". Embed a base type that has the method in all
// servers of one kind.
func ServerTypeOf(server any) string {
	if s, ok := server.(interface{ GymServerType() string }); ok {
		return s.GymServerType()
	}
	return ""
}

// InitOption changes how InitTelemetry works.
type InitOption func(*initOptions)

type initOptions struct {
	serverName, serverType string
	attrs                  []attribute.KeyValue
	lens                   []lens.Option
}

// WithServerName gives the name of the server in the run's configuration.
func WithServerName(name string) InitOption { return func(o *initOptions) { o.serverName = name } }

// WithServerType gives the kind of the server, one of the ServerType constants.
func WithServerType(kind string) InitOption { return func(o *initOptions) { o.serverType = kind } }

// WithResourceAttributes adds attributes to the resource; they win over those
// of this package.
func WithResourceAttributes(attrs ...attribute.KeyValue) InitOption {
	return func(o *initOptions) { o.attrs = append(o.attrs, attrs...) }
}

// WithLensOptions passes options to [lens.SetupTelemetry]: a logger, an
// exporter, a reader of metrics.
func WithLensOptions(opts ...lens.Option) InitOption {
	return func(o *initOptions) { o.lens = append(o.lens, opts...) }
}

// telemetry is the outcome of InitTelemetry in a process where it is on.
type telemetry struct {
	handle     *lens.TelemetryHandle
	owned      bool // set up here, so to be shut down here
	serverName string
	serverType string

	metrics    atomic.Bool // metrics are exported
	meter      metric.Meter
	meters     metric.MeterProvider
	removeLogs func()
	shutdown   sync.Once

	once      sync.Once
	recorders *recorders
	shared    shared
}

func (t *telemetry) metricsActive() bool { return t != nil && t.metrics.Load() }

var telemetryState struct {
	mu        sync.Mutex
	attempted bool
	current   atomic.Pointer[telemetry]
}

// InitTelemetry sets telemetry up for this process as the environment says
// (see [ConfigureTelemetryEnv]) and returns the handle, or nil when telemetry
// is off. The first call decides for the life of the process: every further one
// returns the same, also nil.
//
// It never fails loudly. A variable that cannot be read, or a set-up that
// fails, is logged, and telemetry is off.
//
// The process is named after its server, "<service>/<server>" with the name from
// OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES, unless
// NEMO_GYM_OTEL_SERVICE_NAME_PER_SERVER is off; the plain name is in
// nemo.gym.service_group. Each server process exports for itself, as rank 0 of
// 1, whatever export strategy the rest of the job has.
//
// When the application has set lens up itself, its handle is returned and
// [ShutdownTelemetry] leaves it alone. Service name, run id and resource are
// then the application's. Gym's groups join its spec when it resolves specs against
// [lens.DefaultRegistry].
func InitTelemetry(opts ...InitOption) *lens.TelemetryHandle {
	telemetryState.mu.Lock()
	defer telemetryState.mu.Unlock()
	if !telemetryState.attempted {
		telemetryState.attempted = true
		var o initOptions
		for _, opt := range opts {
			if opt != nil {
				opt(&o)
			}
		}
		telemetryState.current.Store(initialize(&o))
	}
	return GetTelemetry()
}

// GetTelemetry returns what [InitTelemetry] returned, or nil before it.
func GetTelemetry() *lens.TelemetryHandle {
	if t := telemetryState.current.Load(); t != nil {
		return t.handle
	}
	return nil
}

// IsMetricsExporterActive reports whether metrics are exported: not before
// [InitTelemetry], and not after [ShutdownTelemetry]. Code on a hot path asks it
// before it measures.
func IsMetricsExporterActive() bool { return telemetryState.current.Load().metricsActive() }

func initialize(o *initOptions) (t *telemetry) {
	defer func() {
		if v := recover(); v != nil {
			slog.Warn("gym: telemetry is off: the set-up panicked", "panic", v)
			t = nil
		}
	}()
	if !IsTelemetryEnvEnabled() {
		return nil
	}
	registerSpanGroups()
	t = &telemetry{serverName: o.serverName, serverType: o.serverType}
	h := lens.Current()
	if h.IsExporting() {
		t.handle = h
		t.useMetrics()
		slog.Info("gym: using the telemetry that the application has set up", "server", o.serverName,
			"exporting", h.IsExporting(), "run_id", h.RunID(), "groups", lens.EnabledSpanGroups().String())
		return t
	}
	declareVariables()
	cfg, err := lensConfig()
	if err != nil {
		slog.Warn("gym: telemetry is off: a variable cannot be read", "error", err)
		return nil
	}
	if !cfg.Enabled {
		return nil
	}
	group := cfg.ServiceName
	if text := firstOf(os.LookupEnv, envGym+perServerKey); o.serverName != "" && (text == "" || truthy(text)) {
		cfg.ServiceName = group + "/" + o.serverName
	}
	// The strategy of the job is about ranks, which these processes have not.
	all := lens.WithExportStrategy(func(lens.Config, int, int) (bool, error) { return true, nil })
	attrs := slices.Concat(resourceAttributes(group, o), hostAttributes(), o.attrs)
	h, err = lens.SetupTelemetry(context.Background(), cfg, slices.Concat([]lens.Option{
		lens.WithRank(0, 1), all, lens.WithResourceAttributes(attrs...),
	}, o.lens)...)
	if errors.Is(err, lens.ErrAlreadySetUp) {
		slog.Info("gym: the application has set lens up itself, so that this process exports nothing")
		return nil
	}
	if err != nil {
		slog.Warn("gym: telemetry is off: the set-up failed", "error", err)
		return nil
	}
	if !h.IsExporting() { // OTEL_SDK_DISABLED, or every signal is off
		_ = h.Shutdown(context.Background())
		return nil
	}
	t.handle, t.owned = h, true
	if cfg.MetricsEnabled {
		t.useMetrics()
	}
	if cfg.LogsEnabled {
		if t.removeLogs, err = installLogBridge(h); err != nil {
			slog.Warn("gym: log records are not exported", "error", err)
		}
	}
	return t
}

// lensConfig reads the configuration of lens.
func lensConfig() (lens.Config, error) {
	cfg, err := lens.FromEnv(envPrefix, envFallback, lens.DefaultRegistry)
	if !operatorNamed(os.LookupEnv) {
		cfg.ServiceName = defaultServiceName
	}
	return cfg, err
}

func (t *telemetry) useMetrics() {
	if t.handle.IsExporting() {
		t.meter, t.meters = t.handle.Meter(), t.handle.MeterProvider()
		t.metrics.Store(exportsMetrics(t.meters))
		t.useSamplers()
	}
}

// exportsMetrics tells a provider that records from one that does nothing.
func exportsMetrics(p metric.MeterProvider) bool {
	_, nothing := p.(noop.MeterProvider)
	return p != nil && !nothing
}

func resourceAttributes(group string, o *initOptions) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		semconv.NeMoGymVersionKey.String(lens.Version),
		semconv.NeMoGymServiceGroupKey.String(group),
		semconv.NVDLRankKey.Int(0),
		semconv.NVDLWorldSizeKey.Int(1),
	}
	if o.serverName != "" {
		attrs = append(attrs, semconv.NeMoGymServerNameKey.String(o.serverName))
	}
	if o.serverType != "" {
		attrs = append(attrs, semconv.NeMoGymServerTypeKey.String(o.serverType))
	}
	return attrs
}

// defaultShutdown is how long ShutdownTelemetry takes at most when it is given
// no time.
const defaultShutdown = 5 * time.Second

// ShutdownTelemetry exports what has been recorded and ends telemetry, within
// the timeout; zero and less mean 5 s. It does nothing when telemetry is off,
// when [InitTelemetry] did not set it up itself, and the second time. What goes
// wrong is logged. Call it when the server has stopped serving, and in the
// supervisor before it stops the servers.
func ShutdownTelemetry(timeout time.Duration) {
	t := telemetryState.current.Load()
	if t == nil || !t.owned {
		return
	}
	if timeout <= 0 {
		timeout = defaultShutdown
	}
	t.shutdown.Do(func() {
		defer func() {
			if v := recover(); v != nil {
				slog.Warn("gym: the shutdown of telemetry panicked", "panic", v)
			}
		}()
		t.shared.stop() // while the last samples still count
		t.metrics.Store(false)
		if t.removeLogs != nil {
			t.removeLogs()
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := t.handle.Shutdown(ctx); err != nil {
			slog.Warn("gym: telemetry was not exported completely", "error", err)
		}
	})
}
