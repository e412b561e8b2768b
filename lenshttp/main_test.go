package lenshttp_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.uber.org/goleak"

	"github.com/stretchr/testify/require"
)

// inProcess is what a process of its own does instead of the tests, by the
// value of LENSHTTP_PROCESS.
var inProcess = map[string]func(){}

func TestMain(m *testing.M) {
	if run := inProcess[os.Getenv("LENSHTTP_PROCESS")]; run != nil {
		run()
		return
	}
	goleak.VerifyTestMain(m)
}

// start serves h over HTTP/1.1, or over HTTP/2 with TLS, until stop, which
// waits for the requests under way; their spans have ended then.
func start(t *testing.T, h http.Handler, http2 bool) (srv *httptest.Server, stop func()) {
	t.Helper()
	var serving sync.WaitGroup // a server of HTTP/2 does not wait in Close
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Done()
		h.ServeHTTP(w, r)
	}))
	srv.Config.ErrorLog = discard
	if http2 {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	stop = func() {
		srv.Client().CloseIdleConnections()
		srv.Close()
		serving.Wait()
	}
	t.Cleanup(stop)
	return srv, stop
}

// get returns the response and its body.
func get(t *testing.T, c interface {
	Do(*http.Request) (*http.Response, error)
}, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := c.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res, string(text)
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// tracked counts the closes of a body.
type tracked struct {
	io.Reader
	closes int
}

func (b *tracked) Close() error { b.closes++; return nil }

func body(text string) *tracked { return &tracked{Reader: strings.NewReader(text)} }

func answer(code int, b io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: b, ContentLength: -1}
}

var discard = log.New(io.Discard, "", 0)

// marker is a propagator that says only that it was there.
type marker struct{}

func (marker) Fields() []string                                                          { return []string{"X-Marker"} }
func (marker) Inject(_ context.Context, c propagation.TextMapCarrier)                    { c.Set("X-Marker", "1") }
func (marker) Extract(ctx context.Context, _ propagation.TextMapCarrier) context.Context { return ctx }
