//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

// modelSeries are the attributes of a point of a call.
func modelSeries(dialect, key, value string) map[string]any {
	out := map[string]any{"nemo.gym.server.name": "policy_model", "nemo.gym.model_call.dialect": dialect}
	if key != "" {
		out["nemo.gym.model_call."+key] = value
	}
	return out
}

func (r *readings) tokens() (out map[string]int64, bounds []float64) {
	out = make(map[string]int64)
	h, _ := r.all()["gym.model_call.tokens"].Data.(metricdata.Histogram[int64])
	for _, p := range h.DataPoints {
		kind, _ := p.Attributes.Value(TokenTypeKey)
		out[kind.AsString()] += p.Sum
		bounds = p.Bounds
	}
	return out, bounds
}

// Case 75 and 68, calls of a model: names, units, keys and bounds.
func TestMetrics75ModelCalls(t *testing.T) {
	m := withMetrics(t, "policy_model")
	lenstest.Start(t, ModelCall)
	c := BeginModelCall(context.Background(), DialectMessages)
	c.FirstToken()
	c.Tokens(TokensInput, 7)
	c.Tokens(TokensOutput, 5)
	c.Tokens(TokensOutput, 40) // a running total
	c.Tokens(TokensReasoning, 0)
	c.Tokens(TokensReasoning, -1)
	c.Tokens("cached", 9)
	c.Finish("end_turn")
	c.Finish("")
	c.End(nil)
	c.End(errors.New("late"))
	c.Finish("late")
	c.Tokens(TokensInput, 700)

	duration := m.histogram("gym.model_call.duration_ms")
	require.Len(t, duration, 1)
	assert.Equal(t, modelSeries("messages", "outcome", "ok"), attributesOfSet(duration[0].Attributes))
	assert.Equal(t, []float64{100, 250, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000}, duration[0].Bounds)
	ttft := m.histogram("gym.model_call.ttft_ms")
	require.Len(t, ttft, 1)
	assert.Equal(t, modelSeries("messages", "", ""), attributesOfSet(ttft[0].Attributes))
	assert.Equal(t, []float64{50, 100, 250, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000}, ttft[0].Bounds)
	assert.Positive(t, ttft[0].Sum)
	assert.LessOrEqual(t, ttft[0].Sum, duration[0].Sum)
	tokens, bounds := m.tokens()
	assert.Equal(t, map[string]int64{"input": 7, "output": 40, "reasoning": 0}, tokens, "what is reported is there, also 0")
	assert.Equal(t, []float64{16, 64, 256, 1024, 4096, 16384, 32768, 65536, 131072, 262144, 524288, 1048576}, bounds)
	assert.Equal(t, map[string]float64{
		"nemo.gym.model_call.dialect=messages,nemo.gym.model_call.finish_reason=end_turn,nemo.gym.server.name=policy_model": 1,
	}, m.values("gym.model_call.finish_total"))
	for name, unit := range map[string]string{"duration_ms": "ms", "ttft_ms": "ms", "tokens": "{token}", "finish_total": "1"} {
		assert.Equal(t, unit, m.all()["gym.model_call."+name].Unit, name)
	}
	for _, early := range []string{"gym.model.call_duration_ms", "gym.model.time_to_first_byte_ms"} {
		assert.NotContains(t, m.all(), early)
	}
}

func TestModelCallOutcomes(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, ModelCall)
	for _, err := range []error{nil, errors.New("boom"), context.Canceled, fmt.Errorf("x: %w", context.DeadlineExceeded), os.ErrDeadlineExceeded} {
		BeginModelCall(context.Background(), "klingon").End(err)
	}
	chosen := BeginModelCall(context.Background(), "")
	chosen.SetOutcome(ModelRateLimited)
	chosen.End(nil)
	unknown := BeginModelCall(context.Background(), "")
	unknown.SetOutcome("no such")
	unknown.End(nil)
	got := make(map[string]uint64)
	for _, p := range m.histogram("gym.model_call.duration_ms") {
		attrs := attributesOfSet(p.Attributes)
		assert.Equal(t, "unknown", attrs["nemo.gym.model_call.dialect"])
		assert.Equal(t, "unknown", attrs["nemo.gym.server.name"])
		got[attrs["nemo.gym.model_call.outcome"].(string)] += p.Count
	}
	assert.Equal(t, map[string]uint64{"ok": 1, "error": 2, "canceled": 1, "timeout": 2, "rate_limited": 1}, got)
	assert.Empty(t, m.histogram("gym.model_call.ttft_ms"), "nothing was streamed")
	tokens, _ := m.tokens()
	assert.Empty(t, tokens, "nothing was reported")

	for status, want := range map[int]ModelOutcome{0: ModelOK, 200: ModelOK, 302: ModelOK, 400: ModelClientError, 408: ModelTimeout, 429: ModelRateLimited, 500: ModelServerError, 504: ModelTimeout} {
		assert.Equal(t, want, ModelOutcomeOfStatus(status), status)
	}
}

// A model server over a real connection: what is measured without its help, and
// what its handler tells.
func TestTracedModelCallMeasures(t *testing.T) {
	m := withMetrics(t, "policy_model")
	rec := lenstest.Start(t, ModelCall)
	piece := make(chan struct{})
	mux := http.NewServeMux()
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, "data: a\n\n")
		assert.NoError(t, http.NewResponseController(w).Flush())
		<-piece // the caller has the first piece before there is a second
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
		c := ModelCallFrom(r.Context())
		c.Tokens(TokensOutput, 2)
		c.Finish("stop")
	}
	mux.Handle("POST /v1/chat/completions", TracedModelCall(SpanModelChatCompletions, http.HandlerFunc(stream)))
	mux.Handle("POST /v1/responses", TracedModelCall(SpanModelResponses, answer(429)))
	mux.Handle("POST /v1/messages", TracedModelCall(SpanModelMessages, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("data: a\n\n")}) // by ReadFrom
	})))
	mux.Handle("POST /panic", TracedModelCall("mine", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })))
	server := httptest.NewServer(mux)
	defer server.Close()

	post := func(path string) (*http.Response, error) { return server.Client().Post(server.URL+path, "", nil) }
	res, err := post("/v1/chat/completions")
	require.NoError(t, err)
	_, err = io.ReadFull(res.Body, make([]byte, 9))
	require.NoError(t, err)
	close(piece)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	for _, path := range []string{"/v1/responses", "/v1/messages"} {
		res, err = post(path)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, res.Body)
		require.NoError(t, res.Body.Close())
	}
	_, err = post("/panic")
	require.Error(t, err)
	server.Close() // waits for the handlers

	got := make(map[string]string)
	for _, p := range m.histogram("gym.model_call.duration_ms") {
		attrs := attributesOfSet(p.Attributes)
		assert.Equal(t, "policy_model", attrs["nemo.gym.server.name"])
		assert.EqualValues(t, 1, p.Count)
		got[attrs["nemo.gym.model_call.dialect"].(string)] = attrs["nemo.gym.model_call.outcome"].(string)
		require.Len(t, p.Exemplars, 1, "the point belongs to the span")
	}
	assert.Equal(t, map[string]string{"chat_completions": "ok", "responses": "rate_limited", "messages": "ok", "unknown": "error"}, got)
	var streamed []string
	for _, p := range m.histogram("gym.model_call.ttft_ms") {
		streamed = append(streamed, attributesOfSet(p.Attributes)["nemo.gym.model_call.dialect"].(string))
	}
	assert.ElementsMatch(t, []string{"chat_completions", "messages"}, streamed, "an answer in one piece has no first token")
	tokens, _ := m.tokens()
	assert.Equal(t, map[string]int64{"output": 2}, tokens)
	assert.Len(t, m.values("gym.model_call.finish_total"), 1)
	assert.Len(t, rec.Ended(), 4)
}

// A caller that has left before there was an answer canceled the call.
func TestTracedModelCallThatNobodyWaitsFor(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, ModelCall)
	began := make(chan struct{})
	server := httptest.NewServer(TracedModelCall(SpanModelResponses, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})))
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", server.URL, nil)
	require.NoError(t, err)
	go func() {
		<-began
		cancel()
	}()
	_, err = server.Client().Do(req)
	require.ErrorIs(t, err, context.Canceled)
	server.Close()
	points := m.histogram("gym.model_call.duration_ms")
	require.Len(t, points, 1)
	assert.Equal(t, "canceled", attributesOfSet(points[0].Attributes)["nemo.gym.model_call.outcome"])
}

func TestModelCallOff(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Verify)
	assert.Nil(t, BeginModelCall(context.Background(), DialectResponses), "the group is off")
	lens.SetEnabledSpanGroups(ModelCall)
	call := BeginModelCall(context.Background(), DialectResponses)
	require.NotNil(t, call)
	telemetryState.current.Load().metrics.Store(false)
	assert.Nil(t, BeginModelCall(context.Background(), DialectResponses), "there are no metrics")
	call.End(nil)
	serve(TracedModelCall(SpanModelResponses, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.Nil(t, ModelCallFrom(r.Context()))
	})), httptest.NewRequest("POST", "/", nil))
	assert.Empty(t, m.all())
}

func TestModelCallConcurrently(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, ModelCall)
	c := BeginModelCall(context.Background(), DialectResponses)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c.FirstToken()
			c.Tokens(TokensInput, 3)
			c.SetOutcome(ModelOK)
			c.End(nil)
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, m.histogram("gym.model_call.duration_ms")[0].Count)
}
