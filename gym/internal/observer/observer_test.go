package observer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func TestLagIsRecordedWakeUpByWakeUp(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	o, err := newObserver(m.provider.Meter("test"), Config{Interval: 3 * time.Second})
	require.NoError(t, err)
	lags := []time.Duration{0, 2 * time.Millisecond, 40 * time.Millisecond}
	i := 0
	o.sleep = func(d time.Duration, _ <-chan struct{}) (time.Duration, bool) {
		assert.Equal(t, 3*time.Second, d)
		if i == len(lags) {
			return 0, false
		}
		i++
		return lags[i-1], true
	}
	o.run()
	o.Stop()
	got := m.collect(t)[LagName]
	assert.Equal(t, "ms", got.Unit)
	p := got.Data.(metricdata.Histogram[float64]).DataPoints[0]
	assert.EqualValues(t, 3, p.Count)
	assert.InDelta(t, 42, p.Sum, 1e-9)
	assert.Equal(t, LagBounds(), p.Bounds)
	assert.Zero(t, p.Attributes.Len())
}

func TestSleepMeasuresItsLateness(t *testing.T) {
	t.Parallel()
	start := time.Now()
	late, ok := sleep(5*time.Millisecond, nil)
	assert.True(t, ok)
	assert.GreaterOrEqual(t, late, time.Duration(0))
	assert.LessOrEqual(t, late, time.Since(start)-5*time.Millisecond)
	done := make(chan struct{})
	close(done)
	_, ok = sleep(time.Hour, done)
	assert.False(t, ok)
}

func TestStartStop(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	o, err := Start(m.provider.Meter("test"), Config{Interval: time.Millisecond, TaskCount: true})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		data, ok := m.collect(t)[LagName].Data.(metricdata.Histogram[float64])
		return ok && data.DataPoints[0].Count >= 3
	}, 30*time.Second, time.Millisecond)
	var all sync.WaitGroup
	for range 4 {
		all.Go(o.Stop)
	}
	all.Wait()
	count := func() uint64 { return m.collect(t)[LagName].Data.(metricdata.Histogram[float64]).DataPoints[0].Count }
	after := count()
	assert.Equal(t, after, count())
	assert.Contains(t, m.collect(t), GoroutinesName, "still there for the final flush")
	require.NoError(t, o.Unregister())
	assert.NotContains(t, m.collect(t), GoroutinesName)
}

func TestWhatTheMeterReads(t *testing.T) {
	m := newMeter(t)
	o, err := newObserver(m.provider.Meter("test"), Config{TaskCount: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Unregister()) }()
	before := m.collect(t)
	for name, unit := range map[string]string{
		GoroutinesName: "{goroutine}", TasksName: "{task}", StatesName: "{goroutine}", GCCyclesName: "{gc_cycle}", ThreadsName: "{thread}",
	} {
		require.Contains(t, before, name)
		assert.Equal(t, unit, before[name].Unit, name)
	}
	one := func(ms map[string]metricdata.Metrics, name string) float64 {
		n := numbers(t, ms[name])
		require.Len(t, n, 1, name)
		return n[""]
	}

	// Goroutines: a known number more.
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { <-stop })
	}
	with := m.collect(t)
	close(stop)
	all.Wait()
	assert.GreaterOrEqual(t, one(with, GoroutinesName), float64(100))
	assert.Equal(t, one(with, GoroutinesName), one(with, TasksName))
	assert.Len(t, numbers(t, with[StatesName]), 4)
	assert.Contains(t, numbers(t, with[StatesName]), "nemo.gym.scheduler.state=waiting")

	runtime.GC()
	runtime.GC()
	assert.GreaterOrEqual(t, one(m.collect(t), GCCyclesName), one(before, GCCyclesName)+2)

	cpu := func() float64 {
		n := numbers(t, m.collect(t)[CPUTimeName])
		require.Len(t, n, 2)
		return n["cpu.mode=user"] + n["cpu.mode=system"]
	}
	if _, _, err := cpuTimes(); err == nil {
		assert.Equal(t, "s", before[CPUTimeName].Unit)
		start := cpu()
		require.Eventually(t, func() bool { work(); return cpu() > start }, 30*time.Second, time.Microsecond)
	}
}

func work() {
	x := 0.0
	for i := range 100000 {
		x += math.Sqrt(float64(i))
	}
	runtime.KeepAlive(x)
}

func TestAgainstTheFilesOfProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads Linux's procfs")
	}
	m := newMeter(t)
	o, err := newObserver(m.provider.Meter("test"), Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Unregister()) }()
	value := func(name string) float64 { return numbers(t, m.collect(t)[name])[""] }
	status := func(key string) (n float64) {
		text, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, key+":"); ok {
				_, err := fmt.Sscan(rest, &n)
				require.NoError(t, err)
			}
		}
		return n
	}
	within := func(name string, read func() float64, slack float64) {
		// Read on both sides, for the process lives.
		require.Eventually(t, func() bool {
			low := read()
			got := value(name)
			high := read()
			return got >= min(low, high)-slack && got <= max(low, high)+slack
		}, 30*time.Second, time.Millisecond, name)
	}
	within(ThreadsName, func() float64 { return status("Threads") }, 0)
	within(MemoryName, func() float64 { return status("VmRSS") * 1024 }, 1<<20)
	assert.Equal(t, "By", m.collect(t)[MemoryName].Unit)

	before := value(DescriptorsName)
	var files []*os.File
	for range 50 {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		files = append(files, f)
	}
	assert.InDelta(t, before+50, value(DescriptorsName), 5)
	for _, f := range files {
		require.NoError(t, f.Close())
	}
}

func TestWithoutProcfsItSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	var log bytes.Buffer
	o, err := newObserver(m.provider.Meter("test"), Config{ProcRoot: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	got := m.collect(t)
	assert.NotContains(t, got, MemoryName)
	assert.NotContains(t, got, DescriptorsName)
	assert.Contains(t, got, ThreadsName, "the runtime knows its threads")
	assert.NotContains(t, got, TasksName, "not asked for")
	assert.Contains(t, log.String(), MemoryName)
	assert.Contains(t, log.String(), DescriptorsName)
	require.NoError(t, o.Unregister())
}

func TestPausesOfTheCollectorAreCounted(t *testing.T) {
	m := newMeter(t)
	o, err := newObserver(m.provider.Meter("test"), Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Unregister()) }()
	pauses := o.runtime[1]
	for range 3 {
		runtime.GC() // two pauses each
	}
	pauses.advance(context.Background())
	p := m.collect(t)[GCPauseName].Data.(metricdata.Histogram[float64]).DataPoints[0]
	assert.GreaterOrEqual(t, p.Count, uint64(6))
	assert.Positive(t, p.Sum)
	assert.Equal(t, SecondsBounds(), p.Bounds)
	var now uint64
	for _, n := range pauses.read().Counts {
		now += n
	}
	var seen uint64
	for _, n := range pauses.seen {
		seen += n
	}
	assert.LessOrEqual(t, seen, now)
}

// fakeRuntime is a histogram that grows as the test wants.
func fakeReplay(t *testing.T, m *meter) (*replay, *metrics.Float64Histogram) {
	t.Helper()
	into, err := m.provider.Meter("test").Float64Histogram("h", metric.WithExplicitBucketBoundaries(1, 2, 3))
	require.NoError(t, err)
	h := &metrics.Float64Histogram{Counts: []uint64{5, 0, 0, 0}, Buckets: []float64{math.Inf(-1), 1, 2, 3, math.Inf(1)}}
	return &replay{into: into, read: func() *metrics.Float64Histogram { return h }, seen: append([]uint64(nil), h.Counts...)}, h
}

func TestReplay(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	r, h := fakeReplay(t, m)
	ctx := context.Background()
	r.advance(ctx)
	assert.NotContains(t, m.collect(t), "h", "nothing new, nothing recorded")
	h.Counts = []uint64{7, 3, 0, 1}
	r.advance(ctx)
	r.advance(ctx)
	p := m.collect(t)["h"].Data.(metricdata.Histogram[float64]).DataPoints[0]
	assert.EqualValues(t, 6, p.Count)
	assert.InDelta(t, 2*0.5+3*1.5+1*3, p.Sum, 1e-9)
	assert.Equal(t, []uint64{2, 3, 1, 0}, p.BucketCounts, "what is beyond the last bound counts as the bound")

	h.Counts = []uint64{1} // another shape: a runtime that changed its mind
	r.advance(ctx)
	r.read = func() *metrics.Float64Histogram { return nil }
	r.advance(ctx)
	assert.EqualValues(t, 6, m.collect(t)["h"].Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
}

func TestReplayThinsEvenlyAndForgetsNothing(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	r, h := fakeReplay(t, m)
	const rounds = 100
	for range rounds {
		h.Counts[1] += 9990
		h.Counts[2] += 10 // rare, and worth the more
		r.advance(context.Background())
	}
	p := m.collect(t)["h"].Data.(metricdata.Histogram[float64]).DataPoints[0]
	assert.InDelta(t, rounds*most, p.Count, 2)
	assert.InDelta(t, rounds, p.BucketCounts[2], 1)
}

func TestMiddle(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 1.5, middle(1, 2), 0)
	assert.InDelta(t, 0.5, middle(math.Inf(-1), 1), 0)
	assert.InDelta(t, 9, middle(9, math.Inf(1)), 0)
}

// refusing is a meter that refuses the instrument of one name.
type refusing struct {
	noop.Meter
	name string
	err  error
}

func (r refusing) is(name string) error {
	if name == r.name {
		return r.err
	}
	return nil
}

func (r refusing) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, r.is(name)
}

func (r refusing) Int64ObservableUpDownCounter(name string, _ ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	return noop.Int64ObservableUpDownCounter{}, r.is(name)
}

func (r refusing) Int64ObservableCounter(name string, _ ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return noop.Int64ObservableCounter{}, r.is(name)
}

func (r refusing) Int64ObservableGauge(name string, _ ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return noop.Int64ObservableGauge{}, r.is(name)
}

func (r refusing) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, r.is("callback")
}

func TestARefusingMeterIsAnErrorAndNothingRuns(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, name := range []string{LagName, ScheduleDurationName, GoroutinesName, GCCyclesName, TasksName, StatesName, ThreadsName, "callback"} {
		_, err := Start(refusing{name: name, err: boom}, Config{TaskCount: true})
		require.ErrorIs(t, err, boom, name)
	}
	_, err := Start(nil, Config{})
	require.Error(t, err)
	_, err = Start(noop.Meter{}, Config{Interval: -1})
	require.ErrorContains(t, err, "want more than 0")
	for _, name := range []string{InFlightName, "callback"} {
		_, err = NewInFlight(refusing{name: name, err: boom})
		require.ErrorIs(t, err, boom)
	}
	_, err = NewInFlight(nil)
	require.Error(t, err)
}

func TestInFlight(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	f, err := NewInFlight(m.provider.Meter("test"))
	require.NoError(t, err)
	arrived, open := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(f.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
		arrived <- struct{}{}
		<-open
	})))
	defer s.Close()
	now := func() float64 { return numbers(t, m.collect(t)[InFlightName])[""] }
	assert.Zero(t, now())
	client := s.Client()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			resp, err := client.Get(s.URL)
			if assert.NoError(t, err) {
				resp.Body.Close()
			}
		})
		<-arrived
	}
	assert.InDelta(t, 3, now(), 0)
	assert.EqualValues(t, 3, f.Count())
	close(open)
	all.Wait()
	_, err = client.Get(s.URL + "/panic")
	require.Error(t, err)
	require.Eventually(t, func() bool { return now() == 0 }, 30*time.Second, time.Millisecond)
	require.NoError(t, f.Unregister())
	assert.NotContains(t, m.collect(t), InFlightName)

	var none *InFlight
	none.Enter()
	none.Leave()
	assert.Zero(t, none.Count())
	require.NoError(t, none.Unregister())
	h := http.NotFoundHandler()
	assert.Equal(t, fmt.Sprintf("%p", h), fmt.Sprintf("%p", none.Middleware(h)))
}
