//go:build !lens_noop

package lenshttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

// serverDurations returns the points of http.server.request.duration.
func serverDurations(t *testing.T, reader *sdkmetric.ManualReader) []metricdata.HistogramDataPoint[float64] {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &rm))
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == "http.server.request.duration" {
				return m.Data.(metricdata.Histogram[float64]).DataPoints
			}
		}
	}
	return nil
}

func TestFieldD1AnswersAfterTheCallerLeft(t *testing.T) {
	for name, late := range map[string]http.HandlerFunc{
		"500":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) },
		"200":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "late") },
		"flush": func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"copy":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("late")) },
		"502": func(w http.ResponseWriter, r *http.Request) {
			p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "h"})
			p.Transport = roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, errors.New("down") })
			p.ErrorLog = discard
			p.ServeHTTP(w, r)
		},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/http2=%t", name, http2), func(t *testing.T) {
				rec := lenstest.Start(t, server)
				reader := sdkmetric.NewManualReader()
				ctx, leave := context.WithCancel(context.Background())
				srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					leave()
					<-r.Context().Done()
					late(w, r)
				}), server, lenshttp.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))), http2)
				_, err := srv.Client().Do(request(t, ctx, srv.URL)) //nolint:bodyclose // there is none
				require.ErrorIs(t, err, context.Canceled)
				stop()
				s := rec.One("GET")
				require.Equal(t, codes.Unset, s.Status().Code)
				require.NotContains(t, attrs(s), "http.response.status_code")
				require.NotContains(t, attrs(s), "http.response.body.size")
				require.NotContains(t, attrs(s), "error.type")
				points := serverDurations(t, reader)
				require.Len(t, points, 1)
				require.False(t, points[0].Attributes.HasValue("http.response.status_code"))
			})
		}
	}
}

// http.TimeoutHandler throws away what a handler inside it answers too late,
// and what it answered in time without returning in time.
func TestFieldD1TimeoutHandlerOutside(t *testing.T) {
	for name, before := range map[string]bool{"written before": true, "written after": false} {
		t.Run(name, func(t *testing.T) {
			rec := lenstest.Start(t, server)
			sent, done := make(chan struct{}), make(chan struct{})
			inner := lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if before {
					_, _ = io.WriteString(w, "text")
				}
				<-sent
				if !before {
					w.WriteHeader(http.StatusOK)
				}
			}), server)
			srv, stop := start(t, http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(done)
				inner.ServeHTTP(w, r)
			}), time.Millisecond, "late"), false)
			res, got := get(t, srv.Client(), srv.URL)
			require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
			require.Equal(t, "late", got)
			close(sent)
			<-done
			stop()
			require.NotContains(t, attrs(rec.One("GET")), "http.response.status_code")
			require.Equal(t, codes.Unset, rec.One("GET").Status().Code)
		})
	}
}

// A handler that knows of a deadline of its own tells the caller.
func TestFieldD1ADeadlineIsAnswered(t *testing.T) {
	rec := lenstest.Start(t, server)
	h := lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		w.WriteHeader(http.StatusGatewayTimeout)
	}), server)
	srv, stop := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Millisecond)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	}), false)
	res, _ := get(t, srv.Client(), srv.URL)
	stop()
	require.Equal(t, http.StatusGatewayTimeout, res.StatusCode)
	require.Equal(t, "504", attrs(rec.One("GET"))["http.response.status_code"])
	require.Equal(t, codes.Error, rec.One("GET").Status().Code)
}

type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, net.ErrClosed }

func TestFieldD1FailedWrites(t *testing.T) {
	rec := lenstest.Start(t, server)
	h := lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		_, err := io.WriteString(w, "text")
		require.ErrorIs(t, err, net.ErrClosed)
	}), server)
	h.ServeHTTP(brokenWriter{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
	require.NotContains(t, attrs(rec.One("GET")), "http.response.status_code")
	require.Equal(t, codes.Unset, rec.One("GET").Status().Code)

	// A copy whose source fails has sent nothing yet.
	h = lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.(io.ReaderFrom).ReadFrom(readFunc(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }))
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
		}
	}), server)
	srv, stop := start(t, h, false)
	res, _ := get(t, srv.Client(), srv.URL)
	stop()
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
	require.Equal(t, "502", attrs(rec.Named("GET")[1])["http.response.status_code"])
}

// An upgraded connection is half-closed through the body of its response.
func TestFieldD2HalfClose(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("on=%t", on), func(t *testing.T) {
			lenstest.Start(t, groupsIf(on)...)
			srv, _ := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, rw, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				all, _ := io.ReadAll(rw) // to the end, which only a half-close brings
				_, _ = conn.Write(all)
			}), false)
			req := request(t, context.Background(), srv.URL)
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "echo")
			res, err := lenshttp.NewTransport(srv.Client().Transport, server).RoundTrip(req)
			require.NoError(t, err)
			defer res.Body.Close()
			_, err = io.WriteString(res.Body.(io.Writer), "ping")
			require.NoError(t, err)
			require.NoError(t, res.Body.(interface{ CloseWrite() error }).CloseWrite())
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, "ping", string(got))
		})
	}
}

// A router that gets a copy of the request names the span all the same.
func TestFieldD3RouteBehindACopy(t *testing.T) {
	type key struct{}
	withValue := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, 1)))
		})
	}
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", text("x"))
	routed := lenshttp.CarryRoute(mux)
	for name, h := range map[string]http.Handler{
		"copy":        withValue(routed),
		"StripPrefix": http.StripPrefix("/api", routed),
		"timeout":     http.TimeoutHandler(routed, time.Minute, ""),
		"all":         http.StripPrefix("/api", withValue(withValue(routed))),
	} {
		t.Run(name, func(t *testing.T) {
			rec := lenstest.Start(t, server)
			reader := sdkmetric.NewManualReader()
			path := "/items/7"
			if name == "StripPrefix" || name == "all" {
				path = "/api" + path
			}
			lenshttp.NewHandler(h, server, lenshttp.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))).
				ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
			require.Equal(t, "/items/{id}", attrs(rec.One("GET /items/{id}"))["http.route"])
			route, _ := serverDurations(t, reader)[0].Attributes.Value("http.route")
			require.Equal(t, "/items/{id}", route.AsString())
		})
	}
	// Off it is in nobody's way.
	lenstest.Start(t)
	w := httptest.NewRecorder()
	routed.ServeHTTP(w, httptest.NewRequest("GET", "/items/7", nil))
	require.Equal(t, "x", w.Body.String())
}

// What a router leaves on the copy reaches who is further out.
func TestFieldD3PathValuesAndForms(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("on=%t", on), func(t *testing.T) {
			lenstest.Start(t, groupsIf(on)...)
			mux := http.NewServeMux()
			mux.HandleFunc("/items/{id}/{rest...}", func(_ http.ResponseWriter, r *http.Request) { require.NoError(t, r.ParseForm()) })
			r := httptest.NewRequest("POST", "/items/7/a/b", strings.NewReader("k=v"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			lenshttp.NewHandler(mux, server, lenshttp.WithAlwaysPropagate()).ServeHTTP(httptest.NewRecorder(), r)
			require.Equal(t, "/items/{id}/{rest...}", r.Pattern)
			require.Equal(t, "7", r.PathValue("id"))
			require.Equal(t, "a/b", r.PathValue("rest"))
			require.Equal(t, "v", r.PostForm.Get("k"))
		})
	}
}

// The Host header is the caller's to choose.
func TestFieldD7OneSeriesForAnyHost(t *testing.T) {
	for address, want := range map[string][2]string{"": {"", ""}, "api.example.org": {"api.example.org", ""}, "api.example.org:8443": {"api.example.org", "8443"}} {
		t.Run(address, func(t *testing.T) {
			rec := lenstest.Start(t, server)
			reader := sdkmetric.NewManualReader()
			h := lenshttp.NewHandler(text("x"), server, lenshttp.WithServerAddress(address),
				lenshttp.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
			for i := range 300 {
				r := httptest.NewRequest("GET", "/", nil)
				r.Host = "host" + strconv.Itoa(i) + ":" + strconv.Itoa(1000+i)
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			var rm metricdata.ResourceMetrics
			require.NoError(t, reader.Collect(context.Background(), &rm))
			for _, scope := range rm.ScopeMetrics {
				for _, m := range scope.Metrics {
					switch data := m.Data.(type) {
					case metricdata.Histogram[float64]:
						require.Len(t, data.DataPoints, 1, m.Name)
					case metricdata.Histogram[int64]:
						require.Len(t, data.DataPoints, 1, m.Name)
					case metricdata.Sum[int64]:
						require.Len(t, data.DataPoints, 1, m.Name)
					}
				}
			}
			set := serverDurations(t, reader)[0].Attributes
			host, _ := set.Value("server.address")
			require.Equal(t, want[0], host.AsString())
			require.Equal(t, address != "", set.HasValue("server.address"))
			port, _ := set.Value("server.port")
			require.Equal(t, want[1] != "", set.HasValue("server.port"))
			if want[1] != "" {
				require.Equal(t, want[1], strconv.FormatInt(port.AsInt64(), 10))
			}
			code, _ := set.Value("http.response.status_code")
			require.EqualValues(t, 200, code.AsInt64())
			if address == "" {
				address = "host0:1000"
			}
			require.Equal(t, strings.Split(address, ":")[0], attrs(rec.Named("GET")[0])["server.address"])
		})
	}
}
