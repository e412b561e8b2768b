package memprofile

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

const judge = "nemo.gym.server.name=judge,nemo.gym.server.type=resources,process.pid=7}"

func TestUsagePeakAndProcesses(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	fs.process(7, 70, 60, 1, 8)
	fs.process(8, 50, 40, 1)
	fs.host(1000, 300)
	p := m.profiler(t, Config{Targets: []Target{{"judge", "resources", 7}}, ProcRoot: fs.root, Budget: Unlimited})
	assert.Empty(t, m.collect(t), "nothing before the first sample")
	p.sample(true)
	fs.process(7, 40, 45, 1, 8)
	fs.process(8, 50, 35, 1)
	fs.host(1000, 400)
	p.sample(false)
	assert.Equal(t, map[string]int64{
		"gym.server.memory.usage{memory.type=rss," + judge:        90 * kib,
		"gym.server.memory.usage{memory.type=pss," + judge:        80 * kib,
		"gym.server.memory.sampled_peak{memory.type=rss," + judge: 120 * kib,
		"gym.server.memory.sampled_peak{memory.type=pss," + judge: 100 * kib,
		"gym.server.processes{" + judge:                           2,
		"gym.host.memory.usage{}":                                 600 * kib,
		"gym.host.memory.available{}":                             400 * kib,
		"gym.host.memory.total{}":                                 1000 * kib,
		"gym.host.memory.sampled_peak{}":                          700 * kib,
	}, m.collect(t))

	// A PSS that cannot be read is absent, and so is its last value. The peak was seen and stays.
	fs.process(8, 50, -1, 1)
	p.sample(false)
	points := m.collect(t)
	assert.NotContains(t, points, "gym.server.memory.usage{memory.type=pss,"+judge)
	assert.EqualValues(t, 100*kib, points["gym.server.memory.sampled_peak{memory.type=pss,"+judge])
	assert.EqualValues(t, 90*kib, points["gym.server.memory.usage{memory.type=rss,"+judge])

	fs.remove("7")
	p.sample(false)
	points = m.collect(t)
	for _, name := range []string{"memory.usage{memory.type=rss,", "memory.usage{memory.type=pss,", "processes{"} {
		v, ok := points["gym.server."+name+judge]
		assert.True(t, ok)
		assert.Zero(t, v)
	}
}

func TestPSSNeverReadHasNoPeak(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	fs.process(7, 70, -1, 1)
	p := m.profiler(t, Config{Targets: []Target{{"x", "", 7}}, ProcRoot: fs.root})
	p.sample(true)
	points := m.collect(t)
	assert.Len(t, points, 3+4)
	assert.Contains(t, points, "gym.server.processes{nemo.gym.server.name=x,process.pid=7}", "an unknown type is no attribute")
}

func TestWithoutTelemetryPeaksStayEmpty(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	fs.process(7, 70, 60, 1)
	var active atomic.Bool
	p := m.profiler(t, Config{Targets: []Target{{"judge", "", 7}}, ProcRoot: fs.root, Active: active.Load})
	p.Start()
	p.sample(true)
	assert.Empty(t, p.published.peaks)
	assert.Zero(t, p.published.peak)
	assert.Empty(t, m.collect(t))
	active.Store(true)
	p.sample(true)
	assert.Len(t, p.published.peaks, 2)
}

func TestEveryTargetIsSampledInOrder(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	var log bytes.Buffer
	p := m.profiler(t, Config{
		Targets:  []Target{{"a", "", 1}, {"b", "", 2}, {"c", "", 3}},
		ProcRoot: fs.root, Budget: Unlimited,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	var order []string
	p.host = func() (HostMemory, error) { order = append(order, "host"); return HostMemory{}, errors.New("no host") }
	p.tree = func(t *tree, _ *walker) reading {
		order = append(order, t.target.Name)
		if t.target.Name == "b" {
			panic("no tree")
		}
		return TreeMemory{Processes: 1}
	}
	for range 2 {
		p.sample(false)
	}
	assert.Equal(t, []string{"host", "a", "b", "c", "host", "a", "b", "c"}, order, "one that fails stops no other")
	points := m.collect(t)
	assert.Contains(t, points, "gym.server.processes{nemo.gym.server.name=c,process.pid=3}")
	assert.NotContains(t, points, "gym.server.processes{nemo.gym.server.name=b,process.pid=2}")
	assert.NotContains(t, points, "gym.host.memory.total{}")
	assert.Contains(t, log.String(), "no host")
	assert.Contains(t, log.String(), "no tree")
}

func TestStartAndStopTwice(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	p := m.profiler(t, Config{Interval: time.Millisecond, ProcRoot: fs.root})
	var samples atomic.Int32
	p.host = func() (HostMemory, error) { samples.Add(1); return HostMemory{Total: 9, Available: 4}, nil }
	p.Start()
	assert.GreaterOrEqual(t, samples.Load(), int32(1), "the first sample is there when Start returns")
	var all sync.WaitGroup
	for range 4 {
		all.Go(p.Start)
	}
	all.Wait()
	require.Eventually(t, func() bool { return samples.Load() >= 3 }, 30*time.Second, time.Millisecond)
	for range 4 {
		all.Go(p.Stop)
	}
	all.Wait()
	after := samples.Load()
	p.Stop()
	p.Start()
	assert.Equal(t, after, samples.Load(), "stopped is stopped")
	assert.EqualValues(t, 5, m.collect(t)["gym.host.memory.usage{}"], "the last sample stays for the final flush")
	require.NoError(t, p.Unregister())
	assert.Empty(t, m.collect(t))
}

func TestStopTakesALastSample(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	p := m.profiler(t, Config{Interval: time.Hour, ProcRoot: fs.root})
	p.Stop() // without Start: nothing, and a Start after it still works
	fs.host(1000, 300)
	p.Start()
	assert.EqualValues(t, 700*kib, m.collect(t)["gym.host.memory.usage{}"])
	fs.host(1000, 100)
	p.Stop()
	assert.EqualValues(t, 900*kib, m.collect(t)["gym.host.memory.usage{}"])
}

func TestRealServers(t *testing.T) {
	t.Parallel()
	needLinux(t)
	m := newMeter(t)
	idle, _ := start(t, "idle")
	hold, _ := start(t, "hold")
	parent, _ := start(t, "parent")
	p := m.profiler(t, Config{Interval: time.Millisecond, Targets: []Target{
		{"idle", "", idle.Process.Pid}, {"hold", "", hold.Process.Pid}, {"parent", "", parent.Process.Pid},
	}})
	p.Start()
	value := func(instrument, server string) int64 {
		for k, v := range m.collect(t) {
			if bytes.HasPrefix([]byte(k), []byte(instrument)) && bytes.Contains([]byte(k), []byte("server.name="+server+",")) {
				return v
			}
		}
		return -1
	}
	assert.EqualValues(t, 2, value("gym.server.processes", "parent"))
	assert.EqualValues(t, 1, value("gym.server.processes", "idle"))
	assert.GreaterOrEqual(t, value("gym.server.memory.sampled_peak{memory.type=pss", "hold"), int64(100<<20))

	require.NoError(t, idle.Process.Kill())
	_ = idle.Wait()
	require.Eventually(t, func() bool { return value("gym.server.processes", "idle") == 0 }, 30*time.Second, 5*time.Millisecond)
	assert.Positive(t, value("gym.server.memory.sampled_peak{memory.type=rss", "idle"))
	p.Stop()
}

func TestPlatform(t *testing.T) {
	t.Parallel()
	fs := newProc(t)
	require.NoError(t, supported("linux", fs.root))
	require.ErrorIs(t, supported("linux", t.TempDir()), ErrUnsupported)
	require.EqualError(t, supported("plan9", fs.root), "gym: no memory profile: it needs Linux with procfs, and this is plan9")
}

// brokenMeter refuses to create gauges, or to observe them.
type brokenMeter struct {
	noop.Meter
	gauge, callback error
}

func (b brokenMeter) Int64ObservableGauge(string, ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return noop.Int64ObservableGauge{}, b.gauge
}

func (b brokenMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, b.callback
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	needLinux(t)
	good, boom := noop.Meter{}, errors.New("boom")
	for want, args := range map[string]struct {
		meter metric.Meter
		cfg   Config
	}{
		"it needs a meter":                {nil, Config{}},
		"interval -1s: want more than 0":  {good, Config{Interval: -time.Second}},
		"budget -0.5: want a share":       {good, Config{Budget: -0.5}},
		"budget NaN: want a share":        {good, Config{Budget: math.NaN()}},
		"it needs Linux with procfs":      {good, Config{ProcRoot: "/nonexistent"}},
		"create gym.server.memory.usage":  {brokenMeter{gauge: boom}, Config{}},
		"observe the memory gauges: boom": {brokenMeter{callback: boom}, Config{}},
	} {
		_, err := New(args.meter, args.cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestProviderThatIsShutDownIsSwallowed(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs := newProc(t)
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	p, err := New(provider.Meter("test"), Config{ProcRoot: fs.root, Interval: time.Millisecond})
	require.NoError(t, err)
	p.Start()
	require.NoError(t, provider.Shutdown(context.Background()))
	p.Stop()
}

func TestNothingRunsBeforeStart(t *testing.T) {
	// goleak in TestMain would find a goroutine; this looks at reads.
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	p := m.profiler(t, Config{ProcRoot: fs.root, Interval: time.Microsecond})
	p.host = func() (HostMemory, error) { t.Error("read before Start"); return HostMemory{}, nil }
	require.NoError(t, os.RemoveAll(fs.root))
	assert.Empty(t, m.collect(t))
}
