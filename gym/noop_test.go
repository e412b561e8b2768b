//go:build lens_noop

package gym

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Case 46 and 31, 32: without the layer below everything runs and nothing is
// recorded.
func TestNoop46(t *testing.T) {
	clearEnv(t)
	t.Setenv("NEMO_GYM_OTEL_ENABLED", "1")
	assert.Nil(t, InitTelemetry(WithServerName("s")))
	assert.Nil(t, GetTelemetry())
	assert.False(t, IsMetricsExporterActive())
	for _, g := range SpanGroups.Groups().Groups() {
		assert.False(t, lens.IsSpanGroupEnabled(g))
	}
	ctx := context.Background()
	got, span := lens.ManagedSpan(ctx, Rollout, "x")
	assert.Equal(t, ctx, got)
	assert.False(t, span.IsRecording())
	lens.SafeSetSpanAttributes(nil, map[string]any{"a": 1})

	calls := 0
	double := TracedVerifyFunc(func(_ context.Context, n int) (int, error) { calls++; return 2 * n, nil })
	v, err := double(ctx, 21)
	require.NoError(t, err)
	assert.Equal(t, 42, v)
	assert.Equal(t, 1, calls)
	boom := errors.New("boom")
	_, err = TracedRolloutFunc(func(context.Context, int) (int, error) { return 0, boom })(ctx, 1)
	assert.Same(t, boom, err)

	h := Middleware(TracedRollout(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/run", nil))
	assert.Equal(t, http.StatusTeapot, w.Code)

	box := NewSandboxTracker("p")
	require.NoError(t, box.Start(ctx, func(context.Context) (string, error) { return "id", nil }))
	require.NoError(t, box.Stop(ctx, func(context.Context) error { return nil }))
	line := NewServerTimeline("s", "", false)
	line.Mark("x")
	line.Report()
	supervisor := NewSupervisorTimeline()
	supervisor.BeginTrace()
	supervisor.ServerEnv("s", "")
	supervisor.ServerReady("s")
	supervisor.Finish()
	ShutdownTelemetry(0)
}

// The trace of a caller goes through a server of this build to the next one,
// over both ways out of it.
func TestNoopDoesNotCutTraces(t *testing.T) {
	clearEnv(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	requests := make(chan string, 2)
	next := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.Header.Get("Traceparent") }))
	defer next.Close()
	client := &http.Client{Transport: Transport(nil)}
	server := httptest.NewServer(Middleware(RolloutPath(TracedRollout(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, send := range []func(*http.Request) (*http.Response, error){
			client.Do,
			func(req *http.Request) (*http.Response, error) {
				InjectHeaders(r.Context(), req.Header)
				return http.DefaultClient.Do(req)
			},
		} {
			req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, next.URL, nil)
			assert.NoError(t, err)
			res, err := send(req)
			if assert.NoError(t, err) {
				assert.NoError(t, res.Body.Close())
			}
		}
	})))))
	defer server.Close()
	req, err := http.NewRequest(http.MethodPost, server.URL+"/ng-rollout/r1/run", nil)
	require.NoError(t, err)
	req.Header.Set("Traceparent", parent)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, parent, <-requests)
	assert.Equal(t, parent, <-requests)
}

// One layer of a client sends the trace with every retry.
func TestNoopSendsTheTraceWithEveryRetry(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := lens.ExtractContext(t.Context(), map[string]string{"traceparent": parent})
	var sent []string
	client := Client(&http.Client{Transport: RetryTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Traceparent"))
		return response(http.StatusServiceUnavailable, http.NoBody), nil
	}), Retry{Wait: noWait})})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://h/", nil)
	require.NoError(t, err)
	res, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, []string{parent, parent, parent}, sent)
	assert.Empty(t, req.Header)
}

// Metrics, too.
func TestNoopMetrics(t *testing.T) {
	clearEnv(t)
	t.Setenv("NEMO_GYM_OTEL_ENABLED", "1")
	t.Setenv("NEMO_GYM_OTEL_GPU_SAMPLING_ENABLED", "1")
	InitTelemetry()
	_, err := StartObserver()
	require.ErrorIs(t, err, ErrTelemetryOff)
	_, err = StartGPUSampler()
	require.ErrorIs(t, err, ErrTelemetryOff)
	running, err := StartMemoryProfiler()
	require.Error(t, err)
	running.Stop()
	ctx := context.Background()
	RecordRolloutOutcome(ctx, RolloutResult{Outcome: RolloutScored})
	assert.Nil(t, BeginModelCall(ctx, DialectResponses))
	limit := NewSemaphore(1, "x")
	calls := 0
	require.NoError(t, ResourcesOperation(ctx, limit, OperationVerify, ExecutorInline, func(*RunningOperation) error { calls++; return nil }))
	assert.Equal(t, 1, calls)
	server := httptest.NewServer(CountInFlight(TracedModelCall(SpanModelResponses, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}))))
	defer server.Close()
	pool, err := NewPool(nil, DefaultPoolSettings())
	require.NoError(t, err)
	defer pool.CloseIdleConnections()
	res, err := (&http.Client{Transport: Transport(RetryTransport(pool, Retry{}))}).Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, http.StatusTeapot, res.StatusCode)
}
