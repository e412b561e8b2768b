//go:build lens_noop

package lenshttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
)

const (
	traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	tracestate  = "vendor=1"
	someBaggage = "run=7"
)

// leaf is a service that keeps the headers of every request.
func leaf(t *testing.T) (url string, requests chan http.Header) {
	t.Helper()
	requests = make(chan http.Header, 8)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requests <- r.Header }))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// relay is a service, built without lens, that calls url for every request.
func relay(t *testing.T, url string, in, out []lenshttp.Option) string {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	client := &http.Client{Transport: lenshttp.NewTransport(base, "client", out...)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		ctx, span := lens.ManagedSpan(r.Context(), "work", "a span that this build does not make")
		defer lens.End(span, nil)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		res, err := client.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		if res.Request != req || len(req.Header) != 0 {
			http.Error(w, "the caller's request was changed", http.StatusInternalServerError)
			return
		}
		_, _ = io.Copy(w, res.Body)
	})
	traced := lenshttp.Middleware("server", in...)(mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		traced.ServeHTTP(w, r)
		if r.Pattern != "POST /items/{id}" || r.PathValue("id") != "7" {
			t.Errorf("a handler further out sees the route %q", r.Pattern)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/items/7"
}

func post(t *testing.T, url string, headers http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, http.NoBody)
	require.NoError(t, err)
	req.Header = headers
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode, "%s", body)
}

// The trace of a caller that records goes through a service that does not, to
// the next one that does.
func TestNoopDoesNotCutTraces(t *testing.T) {
	t.Parallel()
	refuse := lenshttp.WithFilter(func(*http.Request) bool { return false })
	onlyTrace := lenshttp.WithPropagators(propagation.TraceContext{})
	whole := http.Header{"Traceparent": {traceparent}, "Tracestate": {tracestate}, "Baggage": {someBaggage}}
	for _, test := range []struct {
		name               string
		in, out            []lenshttp.Option
		sent               http.Header
		parent, state, bag string
	}{
		{name: "all of it", sent: whole, parent: traceparent, state: tracestate, bag: someBaggage},
		{name: "only baggage", sent: http.Header{"Baggage": {someBaggage}}, bag: someBaggage},
		{name: "nothing", sent: http.Header{}},
		{name: "not sampled", sent: http.Header{"Traceparent": {traceparent[:53] + "00"}}, parent: traceparent[:53] + "00"},
		{name: "malformed", sent: http.Header{"Traceparent": {"00-x"}}},
		{name: "two of them", sent: http.Header{"Traceparent": {traceparent, traceparent}}},
		{name: "a public server", in: []lenshttp.Option{lenshttp.WithPublicEndpoint()}, sent: whole},
		{name: "a server's filter", in: []lenshttp.Option{refuse}, sent: whole},
		{name: "a client's filter", out: []lenshttp.Option{refuse}, sent: whole},
		{name: "filters, and always", in: []lenshttp.Option{refuse, lenshttp.WithAlwaysPropagate()}, out: []lenshttp.Option{refuse, lenshttp.WithAlwaysPropagate()},
			sent: whole, parent: traceparent, state: tracestate, bag: someBaggage},
		{name: "no baggage to others", out: []lenshttp.Option{onlyTrace}, sent: whole, parent: traceparent, state: tracestate},
		{name: "no baggage from others", in: []lenshttp.Option{onlyTrace}, sent: whole, parent: traceparent, state: tracestate},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url, requests := leaf(t)
			post(t, relay(t, url, test.in, test.out), test.sent.Clone())
			got := <-requests
			require.Equal(t, test.parent, got.Get("Traceparent"))
			require.Equal(t, test.state, got.Get("Tracestate"))
			require.Equal(t, test.bag, got.Get("Baggage"))
		})
	}
}

// idle counts the calls of CloseIdleConnections.
type idle struct {
	http.RoundTripper
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

func TestNoopClosesIdleConnections(t *testing.T) {
	t.Parallel()
	base := &idle{}
	(&http.Client{Transport: lenshttp.NewTransport(base, "client")}).CloseIdleConnections()
	require.Equal(t, 1, base.closed)
}

// What a service without lens pays in its binary, over one that speaks HTTP and
// uses OpenTelemetry's API alone.
func TestNoopBinaryIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("links two programs")
	}
	t.Parallel()
	size := func(name string) int64 {
		binary := filepath.Join(t.TempDir(), name)
		out, err := exec.Command("go", "build", "-tags", "lens_noop", "-ldflags", "-s -w", "-o", binary, "./testdata/"+name).CombinedOutput()
		require.NoError(t, err, "%s", out)
		info, err := os.Stat(binary)
		require.NoError(t, err)
		return info.Size()
	}
	bare, ours := size("bare"), size("service")
	t.Logf("%d bytes with the API, %d with lenshttp", bare, ours)
	require.Less(t, ours-bare, int64(1_500_000))
}
