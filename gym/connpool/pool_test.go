package connpool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

var background = context.Background()

func TestWithoutQueueOnlyTheAcquisitionIsCounted(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	close(g.open)
	_, c := newPool(t, Limits{Total: 1, PerHost: 1}, m.metrics(t))
	require.NoError(t, fetch(background, c, g.URL))
	queue, _, connects := m.collect(t)
	assert.Empty(t, queue)
	assert.Equal(t, map[string]int64{"external": 1}, connects)
}

func TestTwoCallsOnOneSlot(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	p, c := newPool(t, Limits{Total: 1, PerHost: 8}, m.metrics(t))
	ctx := WithDestination(background, "policy_model")
	first := start(ctx, c, g.URL)
	<-g.arrived
	began := time.Now()
	second := start(ctx, c, g.URL)
	waiting(t, p, 1)
	queued := time.Now()
	var served time.Time
	time.AfterFunc(30*time.Millisecond, func() { served = time.Now(); g.open <- struct{}{} })
	require.NoError(t, <-first)
	<-g.arrived
	longest := time.Since(began)
	g.open <- struct{}{}
	require.NoError(t, <-second)

	queue, sums, connects := m.collect(t)
	assert.Equal(t, []sample{{"total", "ok", "policy_model", 1}}, queue)
	assert.Equal(t, map[string]int64{"policy_model": 2}, connects)
	// The wait spans at least from when it was seen queueing to when the slot's holder was answered, and lies within
	// the time the test saw.
	assert.GreaterOrEqual(t, sums[0], ms(served.Sub(queued)))
	assert.LessOrEqual(t, sums[0], ms(longest))
	assert.Zero(t, p.limiter.taken())
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func TestThreeCallsAtOnePerHost(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	p, c := newPool(t, Limits{Total: 100, PerHost: 1}, m.metrics(t))
	calls := []<-chan error{start(background, c, g.URL)}
	<-g.arrived
	calls = append(calls, start(background, c, g.URL), start(background, c, g.URL))
	waiting(t, p, 2)
	close(g.open)
	for _, done := range calls {
		require.NoError(t, <-done)
	}
	queue, _, connects := m.collect(t)
	assert.Equal(t, []sample{{"per_host", "ok", "external", 2}}, queue)
	assert.Equal(t, map[string]int64{"external": 3}, connects)
}

func TestTwoHostsAtTotalTwoAndOnePerHost(t *testing.T) {
	t.Parallel()
	m, a, b := newMeter(t), newGate(t), newGate(t)
	p, c := newPool(t, Limits{Total: 2, PerHost: 1}, m.metrics(t))
	a1 := start(background, c, a.URL)
	<-a.arrived
	a2 := start(background, c, a.URL) // a slot of the total is free, the host has none
	waiting(t, p, 1)
	b1 := start(background, c, b.URL)
	<-b.arrived
	b2 := start(background, c, b.URL) // no slot of the total is free
	waiting(t, p, 2)
	close(a.open)
	close(b.open)
	for _, done := range []<-chan error{a1, a2, b1, b2} {
		require.NoError(t, <-done)
	}
	queue, _, connects := m.collect(t)
	assert.ElementsMatch(t, []sample{{"per_host", "ok", "external", 1}, {"total", "ok", "external", 1}}, queue)
	assert.Equal(t, map[string]int64{"external": 4}, connects)
	assert.Zero(t, p.limiter.taken())
}

func TestUnlimitedTotalIsPerHost(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	p, c := newPool(t, Limits{PerHost: 1}, m.metrics(t))
	first := start(background, c, g.URL)
	<-g.arrived
	second := start(background, c, g.URL)
	waiting(t, p, 1)
	close(g.open)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	queue, _, _ := m.collect(t)
	assert.Equal(t, []sample{{"per_host", "ok", "external", 1}}, queue)
}

func TestTimeoutThenRetry(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	p, c := newPool(t, Limits{Total: 1}, m.metrics(t))
	ctx := WithDestination(background, "judge")
	first := start(ctx, c, g.URL)
	<-g.arrived

	const timeout = 40 * time.Millisecond
	began := time.Now()
	short, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := fetch(short, c, g.URL)
	elapsed := time.Since(began)
	var qe *QueueError
	require.ErrorAs(t, err, &qe)
	assert.Equal(t, QueueError{Constraint: Total, Destination: "judge", Limits: Limits{Total: 1}, Err: context.DeadlineExceeded}, *qe)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var timedOut interface{ Timeout() bool }
	require.ErrorAs(t, err, &timedOut)
	assert.True(t, timedOut.Timeout())
	assert.Contains(t, err.Error(), "request to judge gave up in the queue of the connection pool (total limit 1;")

	retry := start(ctx, c, g.URL)
	waiting(t, p, 1)
	close(g.open)
	require.NoError(t, <-first)
	require.NoError(t, <-retry)

	queue, sums, connects := m.collect(t)
	assert.ElementsMatch(t, []sample{{"total", "abandoned", "judge", 1}, {"total", "ok", "judge", 1}}, queue)
	assert.Equal(t, map[string]int64{"judge": 3}, connects)
	for i, s := range queue {
		if s.outcome == "abandoned" {
			// The wait starts a moment after its deadline was set, and cannot exceed the whole call.
			assert.Greater(t, sums[i], 0.0)
			assert.LessOrEqual(t, sums[i], ms(elapsed))
		}
	}
	assert.Zero(t, p.limiter.taken())
}

func TestClientTimeoutCoversTheQueue(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	_, c := newPool(t, Limits{Total: 1}, m.metrics(t))
	first := start(background, c, g.URL)
	<-g.arrived
	impatient := &http.Client{Transport: c.Transport, Timeout: 20 * time.Millisecond}
	err := fetch(background, impatient, g.URL)
	var timedOut interface{ Timeout() bool }
	require.ErrorAs(t, err, &timedOut)
	assert.True(t, timedOut.Timeout())
	close(g.open)
	require.NoError(t, <-first)
	queue, _, _ := m.collect(t)
	assert.Equal(t, []sample{{"total", "abandoned", "external", 1}}, queue)
}

func TestCancelIsAbandoned(t *testing.T) {
	t.Parallel()
	for _, limits := range []Limits{{Total: 1}, {PerHost: 1}, {Total: 1, PerHost: 1}} {
		m, g := newMeter(t), newGate(t)
		p, c := newPool(t, limits, m.metrics(t))
		first := start(background, c, g.URL)
		<-g.arrived
		ctx, cancel := context.WithCancel(background)
		second := start(ctx, c, g.URL)
		waiting(t, p, 1)
		cancel()
		require.ErrorIs(t, <-second, context.Canceled)
		close(g.open)
		require.NoError(t, <-first)
		queue, _, _ := m.collect(t)
		require.Len(t, queue, 1)
		assert.Equal(t, "abandoned", queue[0].outcome)
		assert.Zero(t, p.limiter.taken())
		assert.Zero(t, p.limiter.waiting())
		require.NoError(t, fetch(background, c, g.URL), "the slot must be usable again")
	}
}

func TestAbandonedRequestClosesItsBody(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	p, c := newPool(t, Limits{Total: 1}, nil)
	first := start(background, c, g.URL)
	<-g.arrived
	ctx, cancel := context.WithCancel(background)
	cancel()
	body := &closed{Reader: strings.NewReader("x")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL, body)
	require.NoError(t, err)
	_, err = p.RoundTrip(req)
	require.ErrorIs(t, err, context.Canceled)
	assert.True(t, body.done.Load())
	close(g.open)
	require.NoError(t, <-first)
}

type closed struct {
	io.Reader
	done atomic.Bool
}

func (c *closed) Close() error { c.done.Store(true); return nil }

func TestLabels(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	close(g.open)
	_, c := newPool(t, Limits{Total: 4}, m.metrics(t))
	outer := WithDestination(background, "policy_model")
	require.NoError(t, fetch(outer, c, g.URL))
	inner := WithDestination(outer, "remote_agent_service")
	require.NoError(t, fetch(inner, c, g.URL))
	require.NoError(t, fetch(inner, c, g.URL)) // a retry keeps it
	require.NoError(t, fetch(outer, c, g.URL)) // the caller's label is as it was
	require.NoError(t, fetch(background, c, g.URL))
	require.NoError(t, fetch(WithDestination(outer, ""), c, g.URL))
	_, _, connects := m.collect(t)
	assert.Equal(t, map[string]int64{"policy_model": 2, "remote_agent_service": 2, "external": 2}, connects)
}

func TestConcurrentLabelsStaySeparate(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	close(g.open)
	_, c := newPool(t, Limits{Total: 2}, m.metrics(t))
	want := map[string]int64{}
	var all sync.WaitGroup
	for i := range 24 {
		name := []string{"a", "b", "c"}[i%3]
		want[name]++
		all.Go(func() { assert.NoError(t, fetch(WithDestination(background, name), c, g.URL)) })
	}
	all.Wait()
	queue, _, connects := m.collect(t)
	assert.Equal(t, want, connects)
	for _, s := range queue {
		assert.Contains(t, want, s.destination)
	}
}

func TestEachRedirectHopIsAnAcquisition(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	}))
	t.Cleanup(s.Close)
	p, c := newPool(t, Limits{Total: 1, PerHost: 1}, m.metrics(t))
	require.NoError(t, fetch(WithDestination(background, "agent"), c, s.URL))
	_, _, connects := m.collect(t)
	assert.Equal(t, map[string]int64{"agent": 2}, connects)
	assert.Zero(t, p.limiter.taken())
}

func TestCountsSurviveTheReplacementOfThePool(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	close(g.open)
	shared := m.metrics(t)
	for range 3 {
		_, c := newPool(t, Limits{Total: 1}, shared)
		require.NoError(t, fetch(background, c, g.URL))
	}
	_, _, connects := m.collect(t)
	assert.Equal(t, map[string]int64{"external": 3}, connects)

	// A new meter goes on from the same totals.
	require.NoError(t, shared.Unregister())
	next := newMeter(t)
	next.totals = m.totals
	_, c := newPool(t, Limits{Total: 1}, next.metrics(t))
	require.NoError(t, fetch(background, c, g.URL))
	_, _, connects = next.collect(t)
	assert.Equal(t, map[string]int64{"external": 4}, connects)
	assert.EqualValues(t, 4, m.totals.Count("external"))
	assert.Zero(t, m.totals.Count("nobody"))
	_, _, connects = m.collect(t)
	assert.Empty(t, connects, "unregistered")
}

func TestProcessTotalsAreTheDefault(t *testing.T) {
	m := newMeter(t)
	metrics, err := NewMetrics(m.provider.Meter("test"), WithTotals(nil))
	require.NoError(t, err)
	before := processTotals.Count("test.process_totals")
	metrics.totals.add("test.process_totals")
	assert.Equal(t, before+1, processTotals.Count("test.process_totals"))
}

func TestMetricsOffIsAPlainPool(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	_ = m.metrics(t)
	p, c := newPool(t, Limits{Total: 1}, nil)
	first := start(background, c, g.URL)
	<-g.arrived
	second := start(background, c, g.URL)
	waiting(t, p, 1) // it still limits
	close(g.open)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	queue, _, connects := m.collect(t)
	assert.Empty(t, queue)
	assert.Empty(t, connects)
}

func TestClientSpanIsKept(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	close(g.open)
	p, _ := newPool(t, Limits{Total: 1}, m.metrics(t))
	spans := tracetest.NewSpanRecorder()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	above := &http.Client{Transport: otelhttp.NewTransport(p, otelhttp.WithTracerProvider(tp), otelhttp.WithMeterProvider(noop.NewMeterProvider()))}
	below, err := New(otelhttp.NewTransport(p, otelhttp.WithTracerProvider(tp), otelhttp.WithMeterProvider(noop.NewMeterProvider())), Limits{Total: 1}, nil)
	require.NoError(t, err)
	require.NoError(t, fetch(background, above, g.URL))
	require.NoError(t, fetch(background, &http.Client{Transport: below}, g.URL))
	ended := spans.Ended()
	require.Len(t, ended, 2)
	for _, s := range ended {
		assert.Equal(t, trace.SpanKindClient, s.SpanKind())
	}
}

// brokenHistogram is an SDK histogram that fails the hard way.
type brokenHistogram struct{ metric.Float64Histogram }

func (brokenHistogram) Record(context.Context, float64, ...metric.RecordOption) { panic("broken") }

func TestRecorderFailureLeavesTheResponseAlone(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	broken := m.metrics(t)
	broken.queue = brokenHistogram{}
	p, c := newPool(t, Limits{Total: 1}, broken)
	first := start(background, c, g.URL)
	<-g.arrived
	second := start(background, c, g.URL)
	waiting(t, p, 1)
	close(g.open)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	assert.Zero(t, p.limiter.taken())
}

// failingMeter refuses to create the instrument of one kind.
type failingMeter struct {
	noop.Meter
	histogram, counter, callback error
}

func (f failingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, f.histogram
}
func (f failingMeter) Int64ObservableCounter(string, ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	return noop.Int64ObservableCounter{}, f.counter
}
func (f failingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, f.callback
}

func TestBrokenMeterIsAnError(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, meter := range []metric.Meter{failingMeter{histogram: boom}, failingMeter{counter: boom}, failingMeter{callback: boom}} {
		_, err := NewMetrics(meter)
		require.ErrorIs(t, err, boom)
		assert.Contains(t, err.Error(), "lens: ")
	}
	_, err := NewMetrics(nil)
	require.Error(t, err)
}
