//go:build !lens_noop

package lenshttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

type doer struct{ http.RoundTripper }

func (d doer) Do(r *http.Request) (*http.Response, error) { return d.RoundTrip(r) }

// BenchmarkServer is a request over a loopback connection: bare, with the
// group off, with it on, and with otelhttp alone. Compare within one run.
func BenchmarkServer(b *testing.B) {
	bare := text("hello")
	for _, bench := range []struct {
		name string
		on   []lens.SpanGroup
		h    func() http.Handler
	}{
		{"bare", nil, func() http.Handler { return bare }},
		{"off", nil, func() http.Handler { return lenshttp.NewHandler(bare, server) }},
		{"on", []lens.SpanGroup{server}, func() http.Handler { return lenshttp.NewHandler(bare, server) }},
		{"otelhttp", []lens.SpanGroup{server}, func() http.Handler {
			return otelhttp.NewHandler(bare, "", otelhttp.WithTracerProvider(lens.GroupTracerProvider(server)))
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			lenstest.Start(b, bench.on...)
			srv := httptest.NewServer(bench.h())
			defer srv.Close()
			b.ReportAllocs()
			for b.Loop() {
				res, err := srv.Client().Get(srv.URL)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
}

// BenchmarkHandler is the call alone, without a network: what the gate adds to
// a handler that does nothing but write.
func BenchmarkHandler(b *testing.B) {
	bare := text("hello")
	for _, bench := range []struct {
		name string
		h    http.Handler
	}{{"bare", bare}, {"off", lenshttp.NewHandler(bare, server)}} {
		b.Run(bench.name, func(b *testing.B) {
			lenstest.Start(b)
			r := httptest.NewRequest("GET", "/", nil)
			b.ReportAllocs()
			for b.Loop() {
				bench.h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// BenchmarkTransport is a round trip over a loopback connection.
func BenchmarkTransport(b *testing.B) {
	for _, bench := range []struct {
		name string
		on   []lens.SpanGroup
		wrap func(http.RoundTripper) http.RoundTripper
	}{
		{"bare", nil, func(rt http.RoundTripper) http.RoundTripper { return rt }},
		{"off", nil, func(rt http.RoundTripper) http.RoundTripper { return lenshttp.NewTransport(rt, client) }},
		{"on", []lens.SpanGroup{client}, func(rt http.RoundTripper) http.RoundTripper { return lenshttp.NewTransport(rt, client) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			lenstest.Start(b, bench.on...)
			srv := httptest.NewServer(text("hello"))
			defer srv.Close()
			rt := bench.wrap(srv.Client().Transport)
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, srv.URL, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				res, err := rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
}

// BenchmarkServerOffRatio asks a bare handler and one whose group is off in
// turns, so that what else the machine does meets both alike.
func BenchmarkServerOffRatio(b *testing.B) {
	lenstest.Start(b)
	bare := text("hello")
	var servers [2]*httptest.Server
	for i, h := range []http.Handler{bare, lenshttp.NewHandler(bare, server)} {
		servers[i] = httptest.NewServer(h)
		defer servers[i].Close()
	}
	var spent [2]time.Duration
	turn := 0
	for b.Loop() {
		for i := range servers {
			i = (i + turn) % 2
			began := time.Now()
			res, err := servers[i].Client().Get(servers[i].URL)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			spent[i] += time.Since(began)
		}
		turn++
	}
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "off/bare")
}
