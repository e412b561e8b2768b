package gym

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens/semconv"
)

// The names of the instruments of this package. gym.server.request_duration_ms,
// which NeMo Lens declares as well, is left unused on purpose: requests are in
// http.server.request.duration.
const (
	metricRolloutDuration  = "gym.rollout.duration_ms"
	metricVerifyDuration   = "gym.verify.duration_ms"
	metricVerifySuccess    = "gym.verify.success_rate"
	metricServersActive    = "gym.servers.active"
	metricServerStartup    = "gym.server.startup_duration_ms"
	metricStartupStage     = "gym.server.startup_stage_duration_ms"
	metricSandboxActive    = "gym.sandbox.active"
	metricSandboxStartup   = "gym.sandbox.startup_duration_ms"
	metricSandboxExec      = "gym.sandbox.exec_duration_ms"
	metricSandboxRetries   = "gym.sandbox.create_retry_total"
	unitMilliseconds       = "ms"
	unitSandboxes          = "{sandbox}"
	unitDimensionless      = "1"
	debugRecordingFailed   = "gym: a metric was not recorded"
	debugInstrumentsFailed = "gym: the instruments could not be made"
)

// The bucket bounds in milliseconds.
var (
	startupBounds = []float64{100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000}
	sandboxBounds = []float64{250, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000}
)

// recorders are the instruments of one meter.
type recorders struct {
	rollout, verify, serverStartup, startupStage, sandboxStartup, sandboxExec metric.Float64Histogram
	verifySuccess                                                             metric.Float64Gauge
	serversActive                                                             metric.Int64Gauge
	sandboxActive                                                             metric.Int64UpDownCounter
	sandboxRetries                                                            metric.Int64Counter
}

func newRecorders(m metric.Meter) (*recorders, error) {
	var r recorders
	var err error
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	histogram := func(into *metric.Float64Histogram, name, text string, bounds []float64) {
		opts := []metric.Float64HistogramOption{metric.WithUnit(unitMilliseconds), metric.WithDescription(text)}
		if bounds != nil {
			opts = append(opts, metric.WithExplicitBucketBoundaries(bounds...))
		}
		var e error
		*into, e = m.Float64Histogram(name, opts...)
		keep(e)
	}
	histogram(&r.rollout, metricRolloutDuration, "Time of a rollout in the agent server, failed ones included.", nil)
	histogram(&r.verify, metricVerifyDuration, "Time of a verification in the resources server.", nil)
	histogram(&r.serverStartup, metricServerStartup, "Time from the start of a server process to its first healthy probe.", startupBounds)
	histogram(&r.startupStage, metricStartupStage, "Time of one stage of the start-up of a server process.", startupBounds)
	histogram(&r.sandboxStartup, metricSandboxStartup, "Time to provision a sandbox.", sandboxBounds)
	histogram(&r.sandboxExec, metricSandboxExec, "Time of one command in a sandbox.", sandboxBounds)
	var e error
	r.verifySuccess, e = m.Float64Gauge(metricVerifySuccess, metric.WithDescription("Verifications that returned, as a share of all since the start of the process."))
	keep(e)
	r.serversActive, e = m.Int64Gauge(metricServersActive, metric.WithDescription("Servers that the supervisor has started."))
	keep(e)
	r.sandboxActive, e = m.Int64UpDownCounter(metricSandboxActive, metric.WithUnit(unitSandboxes), metric.WithDescription("Sandboxes that this process has created and not released."))
	keep(e)
	r.sandboxRetries, e = m.Int64Counter(metricSandboxRetries, metric.WithUnit(unitDimensionless), metric.WithDescription("Attempts to create a sandbox that were made again."))
	keep(e)
	return &r, err
}

// record calls f with the instruments when metrics are exported, and reports
// whether it did. Nothing that goes wrong reaches the caller.
func record(f func(*recorders)) (recorded bool) {
	t := telemetryState.current.Load()
	if !t.metricsActive() {
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			slog.Debug(debugRecordingFailed, "panic", v)
		}
	}()
	r := t.instruments()
	if r == nil {
		return false
	}
	f(r)
	return true
}

// instruments makes the instruments at their first use.
func (t *telemetry) instruments() *recorders {
	t.once.Do(func() {
		r, err := newRecorders(t.meter)
		if err != nil {
			slog.Debug(debugInstrumentsFailed, "error", err)
			return
		}
		t.recorders = r
	})
	return t.recorders
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// noCancel lets a recording take the span of ctx and go on when the request is
// over.
func noCancel(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func recordRollout(ctx context.Context, d time.Duration, _ bool) {
	record(func(r *recorders) { r.rollout.Record(noCancel(ctx), milliseconds(d)) })
}

// verifications counts since the start of the process.
var verifications struct {
	sync.Mutex
	ok, all int
}

func recordVerify(ctx context.Context, d time.Duration, ok bool) {
	record(func(r *recorders) {
		r.verify.Record(noCancel(ctx), milliseconds(d))
		// The gauge is set in the lock, so that the last value is the newest one.
		verifications.Lock()
		defer verifications.Unlock()
		verifications.all++
		if ok {
			verifications.ok++
		}
		r.verifySuccess.Record(noCancel(ctx), float64(verifications.ok)/float64(verifications.all))
	})
}

// RecordActiveServers sets gym.servers.active. Only the supervisor calls it:
// with their number after the servers were started, and with 0 before it stops
// them. It does nothing when metrics are not exported.
func RecordActiveServers(n int) {
	record(func(r *recorders) { r.serversActive.Record(context.Background(), int64(n)) })
}

func serverAttributes(name, kind string) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 6)
	attrs = append(attrs, semconv.NeMoGymServerNameKey.String(name))
	if kind != "" {
		attrs = append(attrs, semconv.NeMoGymServerTypeKey.String(kind))
	}
	return attrs
}
