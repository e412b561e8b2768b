//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func answer(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "body")
	})
}

func TestEndpoint49GroupOff(t *testing.T) {
	m := withMetrics(t, "s")
	rec := lenstest.Start(t)
	for _, wrap := range []func(http.Handler) http.Handler{
		TracedRollout, TracedVerify, TracedAgent,
		func(h http.Handler) http.Handler { return TracedModelCall(SpanModelResponses, h) },
		func(h http.Handler) http.Handler { return TracedEndpoint(Verify, "x", h) },
	} {
		r := httptest.NewRequest("POST", "/run", strings.NewReader(`{"_ng_rollout_id": "mine"}`))
		var w *httptest.ResponseRecorder
		h := wrap(http.HandlerFunc(func(inner http.ResponseWriter, got *http.Request) {
			assert.Same(t, r, got)
			assert.Equal(t, http.ResponseWriter(w), inner)
			assert.Empty(t, RolloutID(got.Context()))
			inner.WriteHeader(http.StatusTeapot)
		}))
		w = httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, http.StatusTeapot, w.Code)
	}
	_, err := TracedVerifyFunc(func(ctx context.Context, n int) (int, error) { return 2 * n, nil })(context.Background(), 21)
	require.NoError(t, err)
	assert.Empty(t, rec.Ended())
	assert.Empty(t, m.all())
}

func TestEndpoint50OneSpan(t *testing.T) {
	withMetrics(t, "my_agent")
	rec := lenstest.Start(t, Rollout, Verify, Agent, ModelCall)
	attrs := []attribute.KeyValue{attribute.String("static", "kept"), attribute.String("token", "hunter2")}
	h := TracedEndpoint(Agent, "gym.custom", answer(200), attrs...)
	attrs[0] = attribute.String("static", "changed")
	r := httptest.NewRequest("POST", "/x", nil)
	w := serve(h, r.WithContext(WithRolloutID(r.Context(), "7-2-a1")))
	assert.Equal(t, "body", w.Body.String())
	span := rec.One("gym.custom")
	assert.Equal(t, map[string]any{"static": "kept", "token": "[REDACTED]", "nemo.gym.server.name": "my_agent", "nemo.gym.rollout.id": "7-2-a1"}, attributesOf(span))
	assert.Equal(t, codes.Unset, span.Status().Code)

	for name, h := range map[string]http.Handler{
		"gym.verify": TracedVerify(answer(200)), "gym.agent.responses": TracedAgent(answer(200)), "gym.rollout": TracedRollout(answer(200)),
		"gym.model.chat_completions": TracedModelCall(SpanModelChatCompletions, answer(200)),
		"gym.model.responses":        TracedModelCall(SpanModelResponses, answer(200)),
		"gym.model.messages":         TracedModelCall(SpanModelMessages, answer(200)),
	} {
		serve(h, httptest.NewRequest("POST", "/x", strings.NewReader("{}")))
		assert.Equal(t, map[string]any{"nemo.gym.server.name": "my_agent"}, attributesOf(rec.One(name)))
	}
}

// The rollout is known before its span starts, to the handler too.
func TestEndpoint50RolloutFromBody(t *testing.T) {
	withMetrics(t, "")
	rec := lenstest.Start(t, Rollout)
	const body = `{"_ng_task_index": 7, "_ng_rollout_index": 2, "_ng_attempt_index": 1}`
	serve(TracedRollout(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "7-2-a1", RolloutID(r.Context()))
		data, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.Equal(t, body, string(data))
	})), httptest.NewRequest("POST", "/run", strings.NewReader(body)))
	assert.Equal(t, "7-2-a1", attributesOf(rec.One("gym.rollout"))["nemo.gym.rollout.id"])
}

func TestEndpoint51Failures(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t, Rollout, Verify)
	boom := errors.New("boom")
	_, err := TracedVerifyFunc(func(context.Context, int) (int, error) { return 0, boom })(context.Background(), 1)
	assert.Same(t, boom, err)
	assert.Equal(t, codes.Error, rec.One("gym.verify").Status().Code)
	assert.Equal(t, "boom", rec.One("gym.verify").Status().Description)

	assert.PanicsWithValue(t, "boom", func() {
		serve(TracedRollout(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })), httptest.NewRequest("POST", "/run", nil))
	})
	span := rec.One("gym.rollout")
	assert.Equal(t, codes.Error, span.Status().Code)
	assert.Len(t, span.Events(), 1)
	assert.EqualValues(t, 1, m.histogram("gym.rollout.duration_ms")[0].Count, "case 54: also on failure")

	for status, want := range map[int]codes.Code{200: codes.Unset, 404: codes.Unset, 422: codes.Unset, 500: codes.Error, 503: codes.Error} {
		name := http.StatusText(status)
		w := serve(TracedEndpoint(Verify, name, answer(status)), httptest.NewRequest("POST", "/x", nil))
		assert.Equal(t, status, w.Code)
		assert.Equal(t, want, rec.One(name).Status().Code, name)
	}
	_, err = TracedEndpointFunc(Verify, "cancelled", func(context.Context, int) (int, error) { return 0, context.Canceled })(context.Background(), 1)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, codes.Unset, rec.One("cancelled").Status().Code)
}

func TestEndpoint53VerifySuccess(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t, Verify)
	verify := TracedVerifyFunc(func(_ context.Context, reward float64) (float64, error) { return reward, nil })
	reward, err := verify(context.Background(), 0)
	require.NoError(t, err)
	assert.Zero(t, reward)
	assert.Equal(t, map[string]float64{"": 1}, m.values("gym.verify.success_rate"))
	serve(TracedVerify(answer(422)), httptest.NewRequest("POST", "/verify", nil))
	assert.Equal(t, map[string]float64{"": 1}, m.values("gym.verify.success_rate"))
	serve(TracedVerify(answer(500)), httptest.NewRequest("POST", "/verify", nil))
	assert.InDelta(t, 2.0/3, m.values("gym.verify.success_rate")[""], 1e-9)
	assert.Panics(t, func() {
		serve(TracedVerify(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("x") })), httptest.NewRequest("POST", "/verify", nil))
	})
	assert.InDelta(t, 0.5, m.values("gym.verify.success_rate")[""], 1e-9)
	assert.EqualValues(t, 4, m.histogram("gym.verify.duration_ms")[0].Count)
	assert.Len(t, rec.Named("gym.verify"), 4)
	// The sample was taken inside the span.
	exemplars := m.histogram("gym.verify.duration_ms")[0].Exemplars
	require.NotEmpty(t, exemplars)
	id := rec.Named("gym.verify")[3].SpanContext().TraceID()
	found := false
	for _, e := range exemplars {
		found = found || string(e.TraceID) == string(id[:])
	}
	assert.True(t, found)
}

func TestEndpoint54RolloutDuration(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Rollout)
	serve(TracedRollout(answer(200)), httptest.NewRequest("POST", "/run", nil))
	serve(TracedRollout(answer(500)), httptest.NewRequest("POST", "/run", nil))
	_, _ = TracedRolloutFunc(func(context.Context, int) (int, error) { return 0, errors.New("x") })(context.Background(), 0)
	points := m.histogram("gym.rollout.duration_ms")
	assert.EqualValues(t, 3, points[0].Count)
	assert.GreaterOrEqual(t, points[0].Sum, 0.0)
}

// What the handler can do with its ResponseWriter and what is known further out
// is the same with a span.
func TestEndpointKeepsInterfacesAndPattern(t *testing.T) {
	lenstest.Start(t, Agent)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, flusher := w.(http.Flusher)
		_, hijacker := w.(http.Hijacker)
		_, readerFrom := w.(io.ReaderFrom)
		assert.True(t, flusher && hijacker && readerFrom)
		assert.NoError(t, http.NewResponseController(w).Flush())
	})
	pattern := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		TracedAgent(mux).ServeHTTP(w, r)
		pattern <- r.Pattern
	}))
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL + "/items/3")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, "GET /items/{id}", <-pattern)
	srv.Client().CloseIdleConnections()
}

func TestJobSpan(t *testing.T) {
	rec := lenstest.Start(t, Job)
	func() {
		var err error
		_, span := JobSpan(context.Background())
		defer lens.End(span, &err)
	}()
	assert.Empty(t, attributesOf(rec.One("gym.job")))
}

// Every group of default and per_rollout has an emitter (case 28): sites of all
// nine groups are switched on, and the spans of each are there.
func TestGroups28EveryGroupEmits(t *testing.T) {
	withMetrics(t, "")
	for g, emit := range map[lens.SpanGroup]func(){
		Job:     func() { _, s := JobSpan(context.Background()); s.End() },
		Rollout: func() { serve(TracedRollout(answer(200)), httptest.NewRequest("POST", "/", nil)) },
		Verify:  func() { serve(TracedVerify(answer(200)), httptest.NewRequest("POST", "/", nil)) },
		Agent:   func() { serve(TracedAgent(answer(200)), httptest.NewRequest("POST", "/", nil)) },
		ModelCall: func() {
			serve(TracedModelCall(SpanModelMessages, answer(200)), httptest.NewRequest("POST", "/", nil))
		},
		Server: func() { serve(Middleware(answer(200)), httptest.NewRequest("POST", "/", nil)) },
		HTTPClient: func() {
			res, err := Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
			})).RoundTrip(httptest.NewRequest("GET", "http://h/", nil))
			require.NoError(t, err)
			_ = res.Body.Close()
		},
		Sandbox: func() {
			_ = NewSandboxTracker("p").Stop(context.Background(), func(context.Context) error { return nil })
		},
		Startup: func() {
			sup := newSupervisorTimeline(lookupIn(nil), wallClock)
			sup.BeginTrace()
			sup.Finish()
		},
	} {
		t.Run(string(g), func(t *testing.T) {
			rec := lenstest.Start(t, g)
			emit()
			assert.NotEmpty(t, rec.Ended())
			lens.SetEnabledSpanGroups()
			emit()
			assert.Len(t, rec.Ended(), 1)
		})
	}
	assert.Equal(t, 9, SpanGroups.Groups().Len())
}
