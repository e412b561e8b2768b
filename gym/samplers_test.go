//go:build !lens_noop

package gym

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

// starters are the functions that start something in the background.
var starters = map[string]func() (*Running, error){
	"observer": StartObserver,
	"gpu":      func() (*Running, error) { return startGPU(oneGPU) },
	"profiler": func() (*Running, error) { return StartMemoryProfiler() },
}

func oneGPU(context.Context) ([]byte, error) { return []byte("0, GPU-a, 50, 1024, 4096\n"), nil }

// allEnabled asks for every sampler.
func allEnabled(t *testing.T) {
	clearEnv(t)
	for _, key := range []string{"MEMORY_PROFILING_ENABLED", "GPU_SAMPLING_ENABLED", "CPU_SAMPLING_ENABLED", "MEMORY_SAMPLING_ENABLED"} {
		t.Setenv("NEMO_GYM_OTEL_"+key, "1")
	}
	captureLog(t, io.Discard)
}

func linuxOnly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs procfs")
	}
}

func TestNothingStartsWithoutTelemetry(t *testing.T) {
	linuxOnly(t)
	allEnabled(t)
	reset(t)
	var log bytes.Buffer
	captureLog(t, &log)
	before := runtime.NumGoroutine()
	for name, want := range map[string]error{"observer": ErrTelemetryOff, "gpu": ErrTelemetryOff, "profiler": ErrTelemetryOff} {
		r, err := starters[name]()
		assert.Nil(t, r, name)
		require.ErrorIs(t, err, want, name)
		r.Stop()
	}
	noMoreGoroutines(t, before)
	assert.Contains(t, log.String(), "the memory profiler was not started", "what was asked for is logged")
	assert.NotContains(t, log.String(), "observer", "what telemetry would have started is not")
}

func TestReasons(t *testing.T) {
	linuxOnly(t)
	allEnabled(t)
	withMetrics(t, "")
	t.Setenv("NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS", "-3")
	_, err := StartMemoryProfiler()
	require.ErrorContains(t, err, "NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS is -3")
	t.Setenv("NEMO_GYM_OTEL_MEMORY_PROFILING_ENABLED", "0")
	_, err = StartMemoryProfiler()
	require.ErrorIs(t, err, ErrNotEnabled)
	t.Setenv("NEMO_GYM_OTEL_GPU_SAMPLING_ENABLED", "off")
	_, err = StartGPUSampler()
	require.ErrorIs(t, err, ErrNotEnabled)

	allEnabled(t)
	telemetryState.current.Load().metrics.Store(false) // as after ShutdownTelemetry
	for name, want := range map[string]error{"observer": ErrMetricsOff, "gpu": ErrMetricsOff, "profiler": ErrMetricsOff} {
		_, err := starters[name]()
		require.ErrorIs(t, err, want, name)
	}

	for _, broken := range []metric.Meter{brokenMeter{}, nil} {
		reset(t)
		tel := &telemetry{meter: broken}
		tel.metrics.Store(true)
		telemetryState.current.Store(tel)
		for name, start := range starters {
			r, err := start()
			assert.Nil(t, r, name)
			require.Error(t, err, name)
		}
		next := answer(200)
		assert.NotPanics(t, func() { serve(CountInFlight(next), httptest.NewRequest("GET", "/", nil)) })
		assert.NotPanics(t, func() { tel.useSamplers(); annotate(context.Background()) })
	}
}

func TestOneOfEachRuns(t *testing.T) {
	linuxOnly(t)
	for name, start := range starters {
		t.Run(name, func(t *testing.T) {
			allEnabled(t)
			withMetrics(t, "")
			first, err := start()
			require.NoError(t, err)
			second, err := start()
			require.ErrorIs(t, err, ErrAlreadyRunning)
			second.Stop() // nil
			_, err = start()
			require.ErrorIs(t, err, ErrAlreadyRunning)
			first.Stop()
			again, err := start()
			require.NoError(t, err)
			first.Stop() // is not the one that runs
			_, err = start()
			require.ErrorIs(t, err, ErrAlreadyRunning)
			again.Stop()
			again.Stop()
		})
	}
}

// ShutdownTelemetry takes the last samples and leaves no goroutine; goleak looks
// at the end of all tests, this one at the end of each.
func TestShutdownStopsWhatRuns(t *testing.T) {
	linuxOnly(t)
	allEnabled(t)
	on(t, "NEMO_GYM_OTEL_MEMORY_PROFILING_ENABLED=1", "NEMO_GYM_OTEL_GPU_SAMPLING_ENABLED=1", "NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS=3600")
	reader := &lastReader{ManualReader: sdkmetric.NewManualReader()}
	require.NotNil(t, InitTelemetry(quietly(lens.WithMetricReader(reader))))
	tel := telemetryState.current.Load()
	for name, start := range starters {
		_, err := start()
		require.NoError(t, err, name)
	}
	ShutdownTelemetry(0)
	for _, s := range []*slot{&tel.shared.profiler, &tel.shared.observer, &tel.shared.gpu} {
		assert.False(t, s.running)
	}
	assert.Contains(t, reader.last, "gym.host.memory.usage")
	_, err := StartObserver()
	require.ErrorIs(t, err, ErrMetricsOff)
}

// lastReader reads once more when it is shut down, as a periodic reader does.
type lastReader struct {
	*sdkmetric.ManualReader
	last []string
}

func (r *lastReader) Shutdown(ctx context.Context) error {
	var rm metricdata.ResourceMetrics
	if err := r.Collect(ctx, &rm); err != nil {
		return err
	}
	for _, s := range rm.ScopeMetrics {
		for _, m := range s.Metrics {
			r.last = append(r.last, m.Name)
		}
	}
	return r.ManualReader.Shutdown(ctx)
}

// Case 70 through the supervisor's one line, with a real child that has one.
func TestMetrics70RealServers(t *testing.T) {
	linuxOnly(t)
	allEnabled(t)
	m := withMetrics(t, ServerTypeSupervisor)
	cmd := exec.Command("sh", "-c", "sh -c 'echo; read x'; true")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = stdin.Close() }()
	_, err = stdout.Read(make([]byte, 1)) // the child has its own
	require.NoError(t, err)

	profiler, err := StartMemoryProfiler(MemoryTarget{Name: "judge", Type: ServerTypeResources, PID: cmd.Process.Pid})
	require.NoError(t, err)
	processes := pointsOf(t, m, "gym.server.processes")
	require.Len(t, processes, 1)
	assert.EqualValues(t, 2, processes[0].Value)
	assert.Equal(t, map[string]any{
		"nemo.gym.server.name": "judge", "nemo.gym.server.type": "resources_servers", "process.pid": int64(cmd.Process.Pid),
	}, attributesOfSet(processes[0].Attributes))
	usage := map[string]int64{}
	for _, p := range pointsOf(t, m, "gym.server.memory.usage") {
		usage[attributesOfSet(p.Attributes)["memory.type"].(string)] = p.Value
	}
	assert.Positive(t, usage["pss"])
	assert.LessOrEqual(t, usage["pss"], usage["rss"])
	host := pointsOf(t, m, "gym.host.memory.usage")[0].Value
	assert.Equal(t, pointsOf(t, m, "gym.host.memory.total")[0].Value-pointsOf(t, m, "gym.host.memory.available")[0].Value, host)
	profiler.Stop()
	assert.Len(t, pointsOf(t, m, "gym.server.processes"), 1, "the last sample stays")
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func pointsOf(t *testing.T, m *readings, name string) []metricdata.DataPoint[int64] {
	t.Helper()
	g, _ := m.all()[name].Data.(metricdata.Gauge[int64])
	require.NotEmpty(t, g.DataPoints, name)
	return g.DataPoints
}

func TestObserverAndRequestsInFlight(t *testing.T) {
	clearEnv(t)
	captureLog(t, io.Discard)
	m := withMetrics(t, "")
	t.Setenv("NEMO_GYM_OTEL_EVENT_LOOP_TASK_COUNT", "1")
	t.Setenv("NEMO_GYM_OTEL_EVENT_LOOP_SAMPLE_INTERVAL_SECONDS", "0.001")
	o, err := StartObserver()
	require.NoError(t, err)
	defer o.Stop()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NotEmpty(c, m.histogram("gym.event_loop.lag_ms")) }, 30*time.Second, time.Millisecond)
	assert.Contains(t, m.all(), "gym.event_loop.tasks")
	assert.Contains(t, m.all(), "process.cpu.time")

	inside, leave := make(chan struct{}), make(chan struct{})
	h := CountInFlight(CountInFlight(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-leave
	})))
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(h, httptest.NewRequest("GET", "/", nil))
	}()
	<-inside
	assert.Equal(t, map[string]float64{"": 2}, m.values("gym.server.requests.in_flight"), "both have one counter")
	close(leave)
	<-done
	assert.Equal(t, map[string]float64{"": 0}, m.values("gym.server.requests.in_flight"))
}

// Case 73 through the flag: a program that is missing is asked once, and the
// selection of the environment holds.
func TestMetrics73GPU(t *testing.T) {
	allEnabled(t)
	m := withMetrics(t, "")
	t.Setenv("NEMO_GYM_OTEL_GPU_SAMPLE_INTERVAL_S", "0.001")
	t.Setenv("CUDA_VISIBLE_DEVICES", "1")
	var calls atomic.Int64
	r, err := startGPU(func(context.Context) ([]byte, error) {
		calls.Add(1)
		return []byte("0, GPU-a, 50, 1024, 4096\n1, GPU-b, 25, 2048, 4096\n"), nil
	})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Greater(c, calls.Load(), int64(2)) }, 30*time.Second, time.Millisecond)
	r.Stop()
	device := "nemo.gym.gpu.index=1,nemo.gym.gpu.uuid=GPU-b"
	assert.Equal(t, map[string]float64{device: 25}, m.values("gym.process.gpu.utilization_percent"))
	assert.Equal(t, map[string]float64{device: 2048}, m.values("gym.process.gpu.memory_used_mib"))

	calls.Store(0)
	r, err = startGPU(func(context.Context) ([]byte, error) {
		calls.Add(1)
		return nil, &exec.Error{Name: "nvidia-smi", Err: exec.ErrNotFound}
	})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.EqualValues(c, 1, calls.Load()) }, 30*time.Second, time.Millisecond)
	r.Stop()
	assert.EqualValues(t, 1, calls.Load())
	assert.Empty(t, m.values("gym.process.gpu.utilization_percent"), "the samples of the one before have gone")
}

// Cases 72 and 74 through the flags: the values are on the spans of endpoints,
// sandboxes and the job, the points have the span as exemplar, and the resource
// has the processors.
func TestMetrics72And74AtSpans(t *testing.T) {
	linuxOnly(t)
	on(t, "NEMO_GYM_OTEL_CPU_SAMPLING_ENABLED=1", "NEMO_GYM_OTEL_MEMORY_SAMPLING_ENABLED=1",
		"NEMO_GYM_OTEL_CPU_MIN_RESAMPLE_INTERVAL_S=0.000001", "NEMO_GYM_OTEL_SPAN_GROUPS=all")
	captureLog(t, io.Discard)
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	require.NotNil(t, InitTelemetry(quietly(lens.WithMetricReader(reader), lens.WithSpanProcessor(spans))))
	m := &readings{t, reader}
	ctx, job := JobSpan(context.Background())
	box := NewSandboxTracker("p")
	require.NoError(t, box.Start(ctx, createAs("id")))
	_, err := box.Exec(ctx, func(context.Context) (SandboxResult, error) { return SandboxResult{}, nil })
	require.NoError(t, err)
	_, err = TracedVerifyFunc(func(context.Context, int) (int, error) { return 0, errors.New("no") })(ctx, 0)
	require.Error(t, err)
	serve(TracedAgent(answer(200)), httptest.NewRequest("POST", "/", nil))
	job.End()

	byID := make(map[string]sdktrace.ReadOnlySpan)
	for _, s := range spans.Ended() {
		byID[s.SpanContext().SpanID().String()] = s
		attrs := attributesOf(s)
		for _, key := range []string{"nemo.gym.cpu.percent", "nemo.gym.host.memory_used_mib", "nemo.gym.host.memory_total_mib"} {
			assert.Contains(t, attrs, key, s.Name())
		}
	}
	assert.Len(t, byID, 5)
	cpu := m.all()["gym.process.cpu.percent"].Data.(metricdata.Gauge[float64]).DataPoints
	require.Len(t, cpu, 1)
	assert.Zero(t, cpu[0].Attributes.Len())
	require.NotEmpty(t, cpu[0].Exemplars)
	for _, e := range cpu[0].Exemplars {
		span := byID[hexOf(e.SpanID)]
		require.NotNil(t, span)
		assert.Equal(t, span.SpanContext().TraceID().String(), hexOf(e.TraceID))
	}
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &rm))
	logical, ok := rm.Resource.Set().Value("nemo.gym.host.cpu_count_logical")
	assert.True(t, ok)
	assert.Positive(t, logical.AsInt64())
	ShutdownTelemetry(0)
}

func TestSamplersAtSpansAreOffByDefault(t *testing.T) {
	on(t, "NEMO_GYM_OTEL_SPAN_GROUPS=all")
	reader, spans := sdkmetric.NewManualReader(), tracetest.NewSpanRecorder()
	require.NotNil(t, InitTelemetry(quietly(lens.WithMetricReader(reader), lens.WithSpanProcessor(spans))))
	serve(TracedVerify(answer(200)), httptest.NewRequest("POST", "/", nil))
	require.Len(t, spans.Ended(), 1)
	assert.NotContains(t, attributesOf(spans.Ended()[0]), "nemo.gym.cpu.percent")
	assert.NotContains(t, (&readings{t, reader}).all(), "gym.process.cpu.percent")
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &rm))
	_, ok := rm.Resource.Set().Value("nemo.gym.host.cpu_count_logical")
	assert.False(t, ok)
	ShutdownTelemetry(0)
}

// The middleware's metrics come with the provider of a real set-up, over a real
// connection.
func TestHTTPServerMetricsOfTheSetUp(t *testing.T) {
	on(t)
	reader := sdkmetric.NewManualReader()
	require.NotNil(t, InitTelemetry(quietly(lens.WithMetricReader(reader))))
	m := &readings{t, reader}
	inside, leave := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-leave
	})
	server := httptest.NewServer(Middleware(RolloutPath(mux)))
	defer server.Close()
	done := make(chan error)
	go func() {
		res, err := server.Client().Post(server.URL+"/ng-rollout/7/run", "", nil)
		if err == nil {
			err = res.Body.Close()
		}
		done <- err
	}()
	<-inside
	active := m.values("http.server.active_requests")
	assert.Len(t, active, 1)
	for _, n := range active {
		assert.InDelta(t, 1, n, 0)
	}
	close(leave)
	require.NoError(t, <-done)
	server.Close()
	points := m.histogram("http.server.request.duration")
	require.Len(t, points, 1)
	assert.Equal(t, "s", m.all()["http.server.request.duration"].Unit)
	assert.Equal(t, "/run", attributesOfSet(points[0].Attributes)["http.route"])
	for _, n := range m.values("http.server.active_requests") {
		assert.Zero(t, n)
	}
	ShutdownTelemetry(0)
}

func TestHTTPServerMetricsAreOffWithoutMetrics(t *testing.T) {
	on(t, "NEMO_GYM_OTEL_METRICS_ENABLED=0")
	reader := sdkmetric.NewManualReader()
	require.NotNil(t, InitTelemetry(quietly(lens.WithMetricReader(reader))))
	serve(Middleware(answer(200)), httptest.NewRequest("GET", "/", nil))
	ShutdownTelemetry(0)
	lenstest.Start(t) // the reader belongs to nobody
	assert.ErrorIs(t, reader.Collect(context.Background(), new(metricdata.ResourceMetrics)), sdkmetric.ErrReaderNotRegistered)
}
