package sampler

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// fakeTimes is a processor whose time the test spends.
type fakeTimes struct {
	used  time.Duration
	err   error
	reads int
}

func (f *fakeTimes) read() (time.Duration, error) {
	f.reads++
	return f.used, f.err
}

func fakeCPU(t *testing.T, m *meter) (*CPU, *fakeTimes, *clock) {
	t.Helper()
	if cpuUnsupported != nil {
		t.Skip(cpuUnsupported)
	}
	f, c := &fakeTimes{used: time.Hour}, newClock()
	cpu, err := newCPU(m.provider.Meter("test"), time.Second, f.read)
	require.NoError(t, err)
	cpu.window.now = c.now
	return cpu, f, c
}

func TestCPUPrimesReadsAndCaches(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	cpu, f, c := fakeCPU(t, m)
	_, ok := cpu.Sample(background)
	assert.False(t, ok, "the first call has no value")
	assert.Empty(t, m.gauges(t))

	c.pass(10 * time.Millisecond) // far less than the interval
	f.used += 15 * time.Millisecond
	for range 5 {
		got, ok := cpu.Sample(background)
		assert.True(t, ok, "the first real read does not wait for the interval")
		assert.InDelta(t, 150, got, 1e-9)
	}
	assert.Equal(t, 2, f.reads)

	c.pass(999 * time.Millisecond)
	f.used += time.Second
	got, _ := cpu.Sample(background)
	assert.InDelta(t, 150, got, 1e-9, "still inside the interval")
	assert.Equal(t, 2, f.reads)

	c.pass(time.Millisecond)
	got, _ = cpu.Sample(background)
	assert.InDelta(t, 100, got, 1e-9, "one second in one second")
	assert.Equal(t, 3, f.reads)
	p := m.gauges(t)[CPUName+"{}"]
	assert.InDelta(t, 100, p.Value, 1e-9)
}

func TestCPUErrorsAreSwallowed(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	cpu, f, c := fakeCPU(t, m)
	f.err = errors.New("no")
	for range 3 {
		_, ok := cpu.Sample(background)
		assert.False(t, ok)
	}
	f.err = nil // a failed priming read does no lasting harm
	_, ok := cpu.Sample(background)
	assert.False(t, ok)
	c.pass(time.Second)
	f.used += time.Second / 4
	got, ok := cpu.Sample(background)
	assert.True(t, ok)
	assert.InDelta(t, 25, got, 1e-9)

	f.err = errors.New("no")
	c.pass(5 * time.Second)
	f.used += time.Second
	got, ok = cpu.Sample(background)
	assert.True(t, ok, "the value before")
	assert.InDelta(t, 25, got, 1e-9)
	f.err = nil
	c.pass(5 * time.Second)
	got, _ = cpu.Sample(background)
	assert.InDelta(t, 10, got, 1e-9, "over the whole time since the last good read")
}

func TestCPUWithAClockThatStandsStill(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	cpu, f, c := fakeCPU(t, m)
	cpu.Sample(background)
	f.used += time.Second
	_, ok := cpu.Sample(background)
	assert.False(t, ok)
	c.pass(2 * time.Second)
	got, ok := cpu.Sample(background)
	assert.True(t, ok)
	assert.InDelta(t, 50, got, 1e-9)
	c.pass(2 * time.Second)
	f.used -= time.Minute
	got, _ = cpu.Sample(background)
	assert.Zero(t, got)
}

func TestCPUOfThisProcess(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	cpu, err := NewCPU(m.provider.Meter("test"), time.Nanosecond)
	if cpuUnsupported != nil {
		require.ErrorIs(t, err, cpuUnsupported)
		return
	}
	require.NoError(t, err)
	_, ok := cpu.Sample(background)
	require.False(t, ok)
	require.Eventually(t, func() bool {
		x := 0.0
		for i := range 1_000_000 {
			x += math.Sqrt(float64(i))
		}
		runtime.KeepAlive(x)
		got, ok := cpu.Sample(background)
		return ok && got > 1 && got < 100*float64(runtime.NumCPU())*1.5
	}, 30*time.Second, time.Microsecond)
}

func TestCPUGaugeHasTheSpanAsExemplar(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	cpu, f, c := fakeCPU(t, m)
	spans := tracetest.NewSpanRecorder()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	cpu.Annotate(background) // primes; there is no span and no value
	c.pass(time.Second)
	f.used += time.Second / 2
	ctx, span := tp.Tracer("test").Start(background, "gym.verify")
	cpu.Annotate(ctx)
	span.End()
	p := m.gauges(t)[CPUName+"{}"]
	require.Len(t, p.Exemplars, 1)
	trace, id := span.SpanContext().TraceID(), span.SpanContext().SpanID()
	assert.Equal(t, trace[:], p.Exemplars[0].TraceID)
	assert.Equal(t, id[:], p.Exemplars[0].SpanID)
	require.Len(t, spans.Ended(), 1)
	assert.Equal(t, []attribute.KeyValue{CPUKey.Float64(50)}, spans.Ended()[0].Attributes())
}

func TestCPUFromManyGoroutines(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	cpu, f, _ := fakeCPU(t, m)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				cpu.Sample(background)
			}
		})
	}
	all.Wait()
	assert.GreaterOrEqual(t, f.reads, 1)
}

func TestOffIsNil(t *testing.T) {
	var cpu *CPU
	var mem *HostMemory
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		cpu.Annotate(background)
		mem.Annotate(background)
	}))
	_, ok := cpu.Sample(background)
	assert.False(t, ok)
}

// refusing is a meter that creates nothing.
type refusing struct{ noop.Meter }

var errRefused = errors.New("refused")

func (refusing) Float64Gauge(string, ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	return noop.Float64Gauge{}, errRefused
}

func (refusing) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return noop.Float64ObservableGauge{}, errRefused
}

// callbackRefusing creates instruments and calls nobody back.
type callbackRefusing struct{ noop.Meter }

func (callbackRefusing) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, errRefused
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	if cpuUnsupported == nil {
		_, err := NewCPU(refusing{}, 0)
		require.ErrorIs(t, err, errRefused)
	}
	_, err := NewCPU(nil, 0)
	require.ErrorContains(t, err, "needs a meter")
	_, err = NewCPU(noop.Meter{}, -1)
	require.ErrorContains(t, err, "want more than 0")
	_, err = NewHostMemory(nil, 0, "")
	require.ErrorContains(t, err, "needs a meter")
	_, err = NewHostMemory(noop.Meter{}, 0, "/nonexistent")
	require.ErrorContains(t, err, "lens: read the host's memory")
}

func TestHostMemory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, "meminfo"), []byte(text), 0o644))
	}
	write("MemTotal: 4096 kB\nMemAvailable: 1024 kB\n")
	m, c := newMeter(t), newClock()
	mem, err := NewHostMemory(m.provider.Meter("test"), time.Second, root)
	require.NoError(t, err)
	mem.window.now = c.now
	used, total, ok := mem.Sample(background)
	assert.Equal(t, []any{3.0, 4.0, true}, []any{used, total, ok})
	write("MemTotal: 4096 kB\nMemAvailable: 2048 kB\n")
	used, _, _ = mem.Sample(background)
	assert.InDelta(t, 3, used, 0, "inside the interval")
	c.pass(time.Second)
	used, _, _ = mem.Sample(background)
	assert.InDelta(t, 2, used, 0)
	write("nonsense")
	c.pass(time.Second)
	used, _, ok = mem.Sample(background)
	assert.True(t, ok)
	assert.InDelta(t, 2, used, 0, "the value before")

	spans := tracetest.NewSpanRecorder()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(background, "x")
	mem.Annotate(ctx)
	span.End()
	assert.Equal(t, []attribute.KeyValue{MemoryUsedKey.Float64(2), MemoryTotalKey.Float64(4)}, spans.Ended()[0].Attributes())
	points := m.gauges(t)
	assert.InDelta(t, 2, points[MemoryUsedName+"{}"].Value, 0)
	assert.InDelta(t, 4, points[MemoryTotalName+"{}"].Value, 0)
	_, err = NewHostMemory(refusing{}, 0, root)
	require.Error(t, err)
}

func TestNeverReadIsNoValue(t *testing.T) {
	t.Parallel()
	w := newWindow(time.Second, func() (int, error) { return 0, errors.New("no") })
	_, ok := w.get()
	assert.False(t, ok)
}

func TestHostCPUs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []attribute.KeyValue{LogicalKey.Int(8), PhysicalKey.Int(4)}, hostCPUs(8, 4))
	assert.Equal(t, []attribute.KeyValue{LogicalKey.Int(8)}, hostCPUs(8, 0))
	assert.Equal(t, []attribute.KeyValue{PhysicalKey.Int(4)}, hostCPUs(0, 4))
	assert.Contains(t, HostCPUs(), LogicalKey.Int(runtime.NumCPU()))

	root := t.TempDir()
	for cpu, siblings := range map[string]string{"cpu0": "0,2\n", "cpu1": "1,3\n", "cpu2": "0,2\n", "cpu3": "1,3\n", "cpufreq": "9\n"} {
		dir := filepath.Join(root, cpu, "topology")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "thread_siblings_list"), []byte(siblings), 0o644))
	}
	assert.Equal(t, 2, physicalCores(root))
	assert.Zero(t, physicalCores(t.TempDir()))
}
