//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/gym/connpool"
	"github.com/nemo-lens/lens/lenstest"
)

const (
	internalYes = "nemo.gym.http.internal=true"
	internalNo  = "nemo.gym.http.internal=false"
	reason      = "nemo.gym.http.retry_reason="
)

var atOnce = Retry{
	Attempts: 5,
	Wait:     func(int) time.Duration { return 0 },
	On: func(_ *http.Request, res *http.Response, err error) bool {
		return err != nil || res.StatusCode >= 500
	},
}

// faultyServer misbehaves in another way with each request, and then answers.
func faultyServer(t *testing.T, faults ...func(http.ResponseWriter, *http.Request)) (*httptest.Server, *atomic.Int64) {
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := int(served.Add(1)); n <= len(faults) {
			faults[n-1](w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s, &served
}

func hangUp(linger int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(linger) // 0 resets the connection
			_ = conn.Close()
		}
	}
}

func tooLate(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// attempts gives each request to tooLate little time, and the others enough.
func attempts(base http.RoundTripper, n *atomic.Int64, late int64) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if n.Load()+1 != late {
			return base.RoundTrip(r)
		}
		ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
		defer cancel()
		return base.RoundTrip(r.WithContext(ctx))
	})
}

func TestRetriesAreCountedByReason(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a reset connection looks like differs")
	}
	m := withMetrics(t, "agent")
	rec := lenstest.Start(t, HTTPClient)
	server, served := faultyServer(t, hangUp(-1), hangUp(0), tooLate, answer(503).ServeHTTP)
	base := &http.Transport{DisableKeepAlives: true}
	client := Client(&http.Client{Transport: Transport(RetryTransport(attempts(base, served, 3), atOnce))})
	ctx := WithDestination(context.Background(), "policy_model")
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	require.NoError(t, err)
	res, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, 200, res.StatusCode)
	assert.EqualValues(t, 5, served.Load())
	assert.Equal(t, map[string]float64{
		reason + "server_disconnected": 1, reason + "client_os_error": 1, reason + "timeout": 1, reason + "other": 1,
	}, m.values("gym.http.retry_total"))
	assert.Equal(t, map[string]float64{internalYes: 1}, m.values("gym.http.timeout_total"))
	assert.Equal(t, "1", m.all()["gym.http.retry_total"].Unit)
	assert.Len(t, rec.Ended(), 1, "all of it is one span")
}

func TestTimeoutsAreCountedOnce(t *testing.T) {
	m := withMetrics(t, "")
	server, _ := faultyServer(t, tooLate, tooLate, tooLate, tooLate)
	base := new(http.Transport)
	defer base.CloseIdleConnections()
	for i, transport := range []http.RoundTripper{
		Transport(base), Transport(Transport(base)), Transport(RetryTransport(base, Retry{})),
	} {
		client := &http.Client{Transport: transport, Timeout: 50 * time.Millisecond}
		_, err := client.Get(server.URL)
		require.Error(t, err)
		assert.Equal(t, map[string]float64{internalNo: float64(i + 1)}, m.values("gym.http.timeout_total"))
	}
	client := Client(&http.Client{Transport: Transport(base), Timeout: 50 * time.Millisecond})
	req, err := http.NewRequestWithContext(WithDestination(context.Background(), DestinationRemoteAgent), "GET", server.URL, nil)
	require.NoError(t, err)
	_, err = client.Do(req)
	require.Error(t, err)
	assert.Equal(t, map[string]float64{internalNo: 4}, m.values("gym.http.timeout_total"))
	assert.Empty(t, m.values("gym.http.retry_total"))
}

func TestCancellationAtTheDeadlineIsATimeout(t *testing.T) {
	t.Parallel()
	past, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	assert.Same(t, &timedOut, failureOf(past, nil, context.Canceled))
	future, cancel := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
	defer cancel()
	assert.Same(t, &otherReason, failureOf(future, nil, context.Canceled))
}

// A program's own retries are seen where each of them passes through Transport.
func TestRetriesOfAnotherClient(t *testing.T) {
	m := withMetrics(t, "")
	inner := Transport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no") }))
	client := Client(doerFunc(func(r *http.Request) (*http.Response, error) {
		_, _ = inner.RoundTrip(r)
		return inner.RoundTrip(r)
	}))
	for range 2 {
		_, err := client.Do(httptest.NewRequest("GET", "http://h/", nil))
		require.EqualError(t, err, "no")
	}
	assert.Equal(t, map[string]float64{reason + "other": 2}, m.values("gym.http.retry_total"))
}

type doerFunc func(*http.Request) (*http.Response, error)

func (f doerFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestRedirectIsNoRetry(t *testing.T) {
	m := withMetrics(t, "")
	mux := http.NewServeMux()
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusTemporaryRedirect))
	mux.Handle("/new", answer(404))
	server := httptest.NewServer(mux)
	defer server.Close()
	client := Client(&http.Client{Transport: Transport(RetryTransport(server.Client().Transport, atOnce))})
	for range 2 {
		req, err := http.NewRequest("GET", server.URL+"/old", nil)
		require.NoError(t, err)
		res, err := client.Do(req)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, res.Body)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, 404, res.StatusCode)
	}
	client.CloseIdleConnections()
	assert.Empty(t, m.values("gym.http.retry_total"))
	assert.Empty(t, m.values("gym.http.timeout_total"))
}

func TestCountingLeavesTheRequestAlone(t *testing.T) {
	var got *http.Request
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		got = r
		return ok(r)
	})
	r := httptest.NewRequest("GET", "http://h/", nil)
	reset(t)
	_, err := counting(base).RoundTrip(r)
	require.NoError(t, err)
	assert.Same(t, r, got, "off: as it is")

	withMetrics(t, "")
	res, err := counting(base).RoundTrip(r)
	require.NoError(t, err)
	assert.NotSame(t, r, got)
	assert.Same(t, r, res.Request)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	status := func(code int) *http.Response { return &http.Response{StatusCode: code} }
	for _, tc := range []struct {
		res  *http.Response
		err  error
		want *string
	}{
		{status(200), nil, nil},
		{status(404), nil, nil},
		{status(429), nil, &otherReason},
		{status(500), nil, &otherReason},
		{nil, nil, nil},
		{nil, io.EOF, &serverDisconnected},
		{nil, errors.New("http: server closed idle connection"), &serverDisconnected},
		{nil, context.Canceled, &otherReason},
		{nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, &clientOSError},
		{nil, &net.DNSError{Err: "no such host"}, &clientOSError},
		{nil, &net.DNSError{Err: "slow", IsTimeout: true}, &timedOut},
		{nil, &connpool.QueueError{Err: context.DeadlineExceeded}, &timedOut},
	} {
		assert.Same(t, tc.want, failureOf(context.Background(), tc.res, tc.err), "%v %v", tc.res, tc.err)
	}
}
