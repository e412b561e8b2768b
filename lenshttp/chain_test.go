//go:build !lens_noop

package lenshttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/web/w3c/propagator"
	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

// forward returns a handler that asks url, in the trace of the request.
func forward(c *http.Client, url string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /run", func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
		if err != nil {
			panic(err)
		}
		res, err := c.Do(req)
		if err != nil {
			http.Error(w, "upstream", http.StatusBadGateway)
			return
		}
		defer res.Body.Close()
		_, _ = io.Copy(w, res.Body)
	})
	return mux
}

func TestTwoServersOneTrace(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, test := range []struct {
			name   string
			on     []lens.SpanGroup
			spans  int
			traces int
		}{
			{"all on", []lens.SpanGroup{server, client}, 3, 1},
			{"client off", []lens.SpanGroup{server}, 2, 2},
			{"all off", nil, 0, 0},
		} {
			t.Run(fmt.Sprintf("http2=%t/%s", http2, test.name), func(t *testing.T) {
				rec := lenstest.Start(t, test.on...)
				var header string
				callee, stopCallee := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					header = r.Header.Get("traceparent")
					fmt.Fprint(w, "answer")
				}), server), http2)
				c := &http.Client{Transport: lenshttp.NewTransport(callee.Client().Transport, client)}
				caller, stopCaller := start(t, lenshttp.NewHandler(forward(c, callee.URL+"/v1/responses?api_key=SECRET"), server), http2)
				_, got := get(t, caller.Client(), caller.URL+"/run")
				stopCaller()
				c.CloseIdleConnections()
				stopCallee()
				require.Equal(t, "answer", got)
				require.Equal(t, test.name == "all on", header != "", "no client span, no header")

				traces := map[trace.TraceID]bool{}
				for _, s := range rec.Ended() {
					traces[s.SpanContext().TraceID()] = true
				}
				require.Len(t, rec.Ended(), test.spans)
				require.Len(t, traces, test.traces)
				if test.spans < 3 {
					return
				}
				run := rec.One("GET /run")
				require.False(t, run.Parent().IsValid())
				for _, s := range rec.Named("GET") {
					a := attrs(s)
					require.Equal(t, "GET", a["http.request.method"])
					require.Equal(t, "200", a["http.response.status_code"])
					if s.SpanKind() == trace.SpanKindClient {
						require.True(t, lenstest.IsChild(run, s))
						require.Equal(t, callee.URL+"/v1/responses", a["url.full"])
					} else {
						require.Equal(t, trace.SpanKindServer, s.SpanKind())
						require.True(t, s.Parent().IsRemote())
					}
					require.NotContains(t, fmt.Sprint(a), "SECRET")
				}
				require.Equal(t, "GET /run\n  GET\n    GET\n", rec.Tree())
			})
		}
	}
}

// A program that has installed propagators of its own gets those.
func TestGlobalPropagatorIsUsed(t *testing.T) {
	otel.SetTextMapPropagator(marker{})
	// OpenTelemetry's first one would go on handing over to the marker.
	t.Cleanup(func() { otel.SetTextMapPropagator(propagator.W3C) })
	lenstest.Start(t, client)
	sent := http.Header{}
	rt := lenshttp.NewTransport(roundTripFunc(func(r *http.Request) (*http.Response, error) {
		sent = r.Header
		return answer(200, http.NoBody), nil
	}), client)
	_, err := rt.RoundTrip(request(t, context.Background(), "http://h/"))
	require.NoError(t, err)
	require.Equal(t, http.Header{"X-Marker": {"1"}}, sent)
}

func TestMetrics(t *testing.T) {
	lenstest.Start(t, client, server)
	reader := sdkmetric.NewManualReader()
	meters := lenshttp.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	collect := func() map[string]metricdata.Metrics {
		var rm metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &rm))
		m := map[string]metricdata.Metrics{}
		for _, scope := range rm.ScopeMetrics {
			for _, metric := range scope.Metrics {
				m[metric.Name] = metric
			}
		}
		return m
	}
	active := func() int64 {
		return collect()["http.server.active_requests"].Data.(metricdata.Sum[int64]).DataPoints[0].Value
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(http.ResponseWriter, *http.Request) { assert.EqualValues(t, 1, active()) })
	mux.HandleFunc("GET /fail", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	srv, stop := start(t, lenshttp.NewHandler(mux, server, meters), false)
	c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client, meters)}
	get(t, c, srv.URL+"/items/1")
	_, err := c.Get(srv.URL + "/fail") //nolint:bodyclose // there is none
	require.Error(t, err)
	stop()
	require.Zero(t, active())
	m := collect()
	points := m["http.server.request.duration"].Data.(metricdata.Histogram[float64]).DataPoints
	require.Len(t, points, 1)
	route, _ := points[0].Attributes.Value("http.route")
	require.Equal(t, "/items/{id}", route.AsString())
	require.Contains(t, m, "http.client.request.duration")
}

// Requests, switches of the groups and cancelled callers at once.
func TestConcurrentUse(t *testing.T) {
	rec := lenstest.Start(t, client, server)
	srv, stop := start(t, lenshttp.NewHandler(text("hello"), server), true)
	c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client)}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				res, err := c.Do(request(t, ctx, srv.URL))
				if j%3 == 0 {
					cancel()
				}
				if err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				cancel()
				lens.SetEnabledSpanGroups(groupsIf((i+j)%2 == 0)...)
			}
		})
	}
	wg.Wait()
	stop()
	require.NotEmpty(t, rec.Ended())
	require.Empty(t, rec.Open())
}
