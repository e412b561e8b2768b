//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

func ok(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x")), Request: r}, nil
}

// send makes one request and reads the answer.
func send(t *testing.T, rt http.RoundTripper, ctx context.Context, url string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader("{}"))
	require.NoError(t, err)
	res, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode, nil
}

func TestHTTP57URLs(t *testing.T) {
	rec := lenstest.Start(t, HTTPClient)
	for i, tc := range [][2]string{
		{"http://h:1/v1/responses?api_key=hunter2", "http://h:1/v1/responses"},
		{"http://h:1/v1/responses", "http://h:1/v1/responses"},
		{"http://user:hunter2@h:1/v1?x#hunter2", "http://h:1/v1"},
	} {
		_, err := send(t, Transport(roundTripper(ok)), context.Background(), tc[0])
		require.NoError(t, err)
		span := rec.Named("HTTP POST")[i]
		assert.Equal(t, tc[1], attributesOf(span)["url.full"])
		for key, v := range attributesOf(span) {
			assert.NotContains(t, fmt.Sprint(v), "hunter2", key)
		}
	}
}

func TestHTTP58ClientSpan(t *testing.T) {
	rec := lenstest.Start(t, HTTPClient)
	ctx := WithRolloutID(context.Background(), "7-2-a1")
	var header string
	status, err := send(t, Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
		header = r.Header.Get("traceparent")
		res, err := ok(r)
		res.StatusCode = 500
		return res, err
	})), ctx, "http://h/x")
	require.NoError(t, err)
	assert.Equal(t, 500, status)
	span := rec.One("HTTP POST")
	assert.Equal(t, trace.SpanKindClient, span.SpanKind())
	assert.Equal(t, "nemo.gym", span.InstrumentationScope().Name)
	attrs := attributesOf(span)
	assert.Equal(t, "POST", attrs["http.request.method"])
	assert.Equal(t, "7-2-a1", attrs["nemo.gym.rollout.id"])
	assert.EqualValues(t, 500, attrs["http.response.status_code"])
	assert.Equal(t, codes.Unset, span.Status().Code, "an answer is no error")
	assert.Contains(t, header, span.SpanContext().TraceID().String()+"-"+span.SpanContext().SpanID().String())

	boom := errors.New("boom")
	_, err = send(t, Transport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, boom })), ctx, "http://h/x")
	require.ErrorIs(t, err, boom)
	failed := rec.Named("HTTP POST")[1]
	assert.Equal(t, codes.Error, failed.Status().Code)
	require.Len(t, failed.Events(), 1)
	assert.Equal(t, "exception", failed.Events()[0].Name)
}

func TestHTTPRetriesShareOneSpan(t *testing.T) {
	rec := lenstest.Start(t, HTTPClient)
	var parents []string
	client := Client(&http.Client{Transport: Transport(RetryTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		parents = append(parents, r.Header.Get("traceparent"))
		switch len(parents) {
		case 1:
			return nil, errors.New("not yet")
		case 2:
			return response(http.StatusServiceUnavailable, http.NoBody), nil
		}
		return ok(r)
	}), Retry{Wait: noWait}))})
	req := httptest.NewRequest("GET", "http://h/x", nil)
	req.RequestURI = ""
	res, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	span := rec.One("HTTP GET")
	assert.Equal(t, codes.Unset, span.Status().Code)
	resends := span.Events()
	require.Len(t, resends, 2)
	for i, why := range []string{"error.type", "http.response.status_code"} {
		assert.Equal(t, "resend", resends[i].Name)
		assert.EqualValues(t, why, resends[i].Attributes[1].Key)
	}
	assert.Contains(t, span.Attributes(), attribute.Int("http.request.resend_count", 2))
	require.Len(t, parents, 3)
	for _, p := range parents {
		assert.Contains(t, p, span.SpanContext().SpanID().String())
	}
}

func TestHTTP61TwoServers(t *testing.T) {
	rec := lenstest.Start(t, Server, HTTPClient)
	calleeMux := http.NewServeMux()
	calleeMux.HandleFunc("GET /callee/{id}", func(http.ResponseWriter, *http.Request) {})
	callee := httptest.NewServer(Middleware(calleeMux))
	defer callee.Close()
	callerMux := http.NewServeMux()
	transport := Transport(callee.Client().Transport)
	callerMux.HandleFunc("GET /caller", func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), "GET", callee.URL+"/callee/3?api_key=hunter2", nil)
		if assert.NoError(t, err) {
			res, err := transport.RoundTrip(req)
			if assert.NoError(t, err) {
				_ = res.Body.Close()
			}
		}
	})
	caller := httptest.NewServer(Middleware(RolloutPath(callerMux)))
	defer caller.Close()
	res, err := caller.Client().Get(caller.URL + "/ng-rollout/7-2/caller")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, rec.Ended(), 3) }, 30*time.Second, time.Millisecond)

	outer, client, inner := rec.One("GET /caller"), rec.One("HTTP GET"), rec.One("GET /callee/{id}")
	assert.False(t, outer.Parent().IsValid())
	assert.True(t, lenstest.IsChild(outer, client) && lenstest.IsChild(client, inner))
	assert.Equal(t, trace.SpanKindServer, outer.SpanKind())
	assert.Equal(t, trace.SpanKindClient, client.SpanKind())
	assert.Equal(t, trace.SpanKindServer, inner.SpanKind())
	assert.Equal(t, "7-2", attributesOf(client)["nemo.gym.rollout.id"])
	assert.Equal(t, callee.URL+"/callee/3", attributesOf(client)["url.full"])
	for _, s := range rec.Ended() {
		attrs := attributesOf(s)
		assert.Equal(t, "GET", attrs["http.request.method"])
		assert.EqualValues(t, 200, attrs["http.response.status_code"])
		assert.NotContains(t, fmt.Sprint(attrs), "hunter2")
	}
	callee.Client().CloseIdleConnections()
	caller.Client().CloseIdleConnections()
}

func TestHTTP62GroupsOff(t *testing.T) {
	rec := lenstest.Start(t)
	outer := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))
	_, err := send(t, Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
		assert.Empty(t, r.Header.Get("traceparent"))
		return ok(r)
	})), outer, "http://h/x")
	require.NoError(t, err)
	serve(Middleware(answer(200)), httptest.NewRequest("GET", "/", nil))
	headers := http.Header{}
	InjectHeaders(outer, headers)
	assert.Empty(t, headers)
	assert.Empty(t, rec.Ended())
}

func TestInjectHeaders(t *testing.T) {
	lenstest.Start(t, HTTPClient)
	ctx, span := lens.SpanCM(context.Background(), "handshake")
	defer span.End()
	headers := http.Header{}
	InjectHeaders(ctx, headers)
	assert.Contains(t, headers.Get("traceparent"), span.SpanContext().SpanID().String())
	InjectHeaders(ctx, nil)
}

func TestHTTPServerMetrics(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, Server)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(http.ResponseWriter, *http.Request) {})
	serve(Middleware(mux), httptest.NewRequest("GET", "/items/3", nil))
	points := m.histogram("http.server.request.duration")
	require.Len(t, points, 1)
	attrs := attributesOfSet(points[0].Attributes)
	assert.Equal(t, "/items/{id}", attrs["http.route"])
	assert.Equal(t, "GET", attrs["http.request.method"])
	assert.EqualValues(t, 200, attrs["http.response.status_code"])
	assert.Contains(t, m.all(), "http.server.active_requests")
}
