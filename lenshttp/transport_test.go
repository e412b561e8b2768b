//go:build !lens_noop

package lenshttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

var farAway = time.Now().Add(time.Hour)

func request(t *testing.T, ctx context.Context, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	return req
}

func TestClientSpan(t *testing.T) {
	rec := lenstest.Start(t, client)
	sent := &http.Request{}
	rt := lenshttp.NewTransport(roundTripFunc(func(r *http.Request) (*http.Response, error) {
		sent = r
		res := answer(200, body("x"))
		res.Request = r
		return res, nil
	}), client)
	req := request(t, context.Background(), "http://user:PASSWORD@h:1/v1/responses?api_key=SECRET#SECRET")
	req.Header.Set("Referer", "http://h/?SECRET")
	req.Header.Set("Traceparent", "mine")
	before := req.Clone(context.Background())

	res, err := rt.RoundTrip(req)
	require.NoError(t, err)
	require.Same(t, req, res.Request)
	require.Equal(t, before.Header, req.Header, "the caller's header")
	require.Equal(t, before.URL, req.URL)
	require.Equal(t, before.URL.String(), sent.URL.String(), "what is sent is whole")
	require.Empty(t, rec.Ended(), "the body is not read")
	require.NoError(t, res.Body.Close())

	s := rec.One("GET")
	require.Equal(t, trace.SpanKindClient, s.SpanKind())
	require.Contains(t, sent.Header.Get("Traceparent"), s.SpanContext().TraceID().String()+"-"+s.SpanContext().SpanID().String())
	a := attrs(s)
	require.Equal(t, "http://h:1/v1/responses", a["url.full"])
	require.Equal(t, "h", a["server.address"])
	require.Equal(t, "1", a["server.port"])
	require.Equal(t, "GET", a["http.request.method"])
	require.Equal(t, "200", a["http.response.status_code"])
	for _, secret := range []string{"SECRET", "PASSWORD", "user"} {
		require.NotContains(t, fmt.Sprint(a), secret)
	}
}

func TestClientSpanOptions(t *testing.T) {
	rec := lenstest.Start(t, client)
	rt := lenshttp.NewTransport(roundTripFunc(func(*http.Request) (*http.Response, error) { return answer(503, http.NoBody), nil }), client,
		lenshttp.WithSpanName(lenshttp.MethodName), lenshttp.WithScope("nemo.gym"),
		lenshttp.WithErrorStatus(func(int) bool { return false }),
		lenshttp.WithAttributes(func(*http.Request) []attribute.KeyValue { return []attribute.KeyValue{attribute.Int("n", 7)} }),
		lenshttp.WithExcludedPaths("/healthz"), nil)
	for _, path := range []string{"/x", "/healthz"} {
		_, err := rt.RoundTrip(request(t, context.Background(), "http://h"+path))
		require.NoError(t, err)
	}
	s := rec.One("HTTP GET")
	require.Len(t, rec.Ended(), 1)
	require.Equal(t, codes.Unset, s.Status().Code)
	require.Equal(t, "7", attrs(s)["n"])
	require.NotContains(t, attrs(s), "error.type")
	require.Equal(t, "nemo.gym", s.InstrumentationScope().Name)
}

func TestClientStatus(t *testing.T) {
	for code, want := range map[int]codes.Code{200: codes.Unset, 304: codes.Unset, 404: codes.Error, 500: codes.Error} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			rec := lenstest.Start(t, client)
			rt := lenshttp.NewTransport(roundTripFunc(func(*http.Request) (*http.Response, error) { return answer(code, nil), nil }), client)
			res, err := rt.RoundTrip(request(t, context.Background(), "http://h/"))
			require.NoError(t, err)
			require.Equal(t, http.NoBody, res.Body, "a body that is missing is an empty one")
			require.Equal(t, want, rec.One("GET").Status().Code)
			require.Equal(t, want == codes.Error, attrs(rec.One("GET"))["error.type"] == fmt.Sprint(code))
		})
	}
}

func TestClientSpanEnds(t *testing.T) {
	broken := errors.New("connection reset")
	for _, test := range []struct {
		name   string
		reader io.Reader
		use    func(t *testing.T, res *http.Response, cancel context.CancelCauseFunc)
		closes int
		status codes.Code
	}{
		{"closed unread", strings.NewReader("abc"), func(_ *testing.T, res *http.Response, _ context.CancelCauseFunc) { res.Body.Close() }, 1, codes.Unset},
		{"read to the end", strings.NewReader("abc"), func(t *testing.T, res *http.Response, _ context.CancelCauseFunc) {
			_, err := io.ReadAll(res.Body)
			require.NoError(t, err)
		}, 0, codes.Unset},
		{"read to the end and closed", strings.NewReader("abc"), func(t *testing.T, res *http.Response, _ context.CancelCauseFunc) {
			_, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			res.Body.Close()
		}, 1, codes.Unset},
		{"failed", readFunc(func([]byte) (int, error) { return 0, broken }), func(t *testing.T, res *http.Response, _ context.CancelCauseFunc) {
			_, err := io.ReadAll(res.Body)
			require.ErrorIs(t, err, broken)
		}, 0, codes.Error},
		{"cancelled", strings.NewReader("abc"), func(_ *testing.T, _ *http.Response, cancel context.CancelCauseFunc) { cancel(nil) }, 0, codes.Unset},
		{"cancelled with a cause", strings.NewReader("abc"), func(_ *testing.T, _ *http.Response, cancel context.CancelCauseFunc) { cancel(broken) }, 0, codes.Unset},
		{"dropped", strings.NewReader("abc"), func(*testing.T, *http.Response, context.CancelCauseFunc) {}, 0, codes.Unset},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := lenstest.Start(t, client)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			b := &tracked{Reader: test.reader}
			rt := lenshttp.NewTransport(roundTripFunc(func(*http.Request) (*http.Response, error) { return answer(200, b), nil }), client)
			var held io.Closer
			func() {
				res, err := rt.RoundTrip(request(t, ctx, "http://h/"))
				require.NoError(t, err)
				test.use(t, res, cancel)
				if test.name != "dropped" {
					held = res.Body
				}
			}()
			require.Eventually(t, func() bool { runtime.GC(); return len(rec.Ended()) == 1 }, 30*time.Second, time.Millisecond)
			runtime.KeepAlive(held)
			require.Equal(t, test.status, rec.One("GET").Status().Code)
			require.Equal(t, test.closes, b.closes)
			if test.name == "dropped" {
				require.Equal(t, []string{"response body not closed"}, events(rec.One("GET")))
			}
		})
	}
}

func TestClientFailures(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		status codes.Code
		text   string
	}{
		{"plain", errors.New("connection refused"), codes.Error, "connection refused"},
		{"deadline", context.DeadlineExceeded, codes.Error, "context deadline exceeded"},
		{"cancelled", fmt.Errorf("wrapped: %w", context.Canceled), codes.Unset, ""},
		{"with the URL", &url.Error{Op: "Get", URL: "http://user:PASSWORD@h/p?api_key=SECRET", Err: errors.New("refused")}, codes.Error, `Get "http://h/p": refused`},
		{"with an answer", errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "SECRET"`), codes.Error,
			"net/http: HTTP/1.x transport connection broken: malformed HTTP response"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := lenstest.Start(t, client)
			rt := lenshttp.NewTransport(roundTripFunc(func(*http.Request) (*http.Response, error) { return nil, test.err }), client)
			_, err := rt.RoundTrip(request(t, context.Background(), "http://user:PASSWORD@h/p?api_key=SECRET"))
			require.Equal(t, test.err, err, "the caller's error is untouched")
			s := rec.One("GET")
			require.Equal(t, test.status, s.Status().Code)
			require.Equal(t, test.text, s.Status().Description)
			all := fmt.Sprint(attrs(s), s.Events())
			require.NotContains(t, all, "SECRET")
			require.NotContains(t, all, "PASSWORD")
			require.Equal(t, test.status == codes.Error, len(s.Events()) == 1)
		})
	}
	t.Run("panic", func(t *testing.T) {
		rec := lenstest.Start(t, client)
		rt := lenshttp.NewTransport(roundTripFunc(func(*http.Request) (*http.Response, error) { panic("boom") }), client)
		require.PanicsWithValue(t, "boom", func() { _, _ = rt.RoundTrip(request(t, context.Background(), "http://h/")) })
		require.Equal(t, codes.Error, rec.One("GET").Status().Code)
		require.Equal(t, []string{"exception"}, events(rec.One("GET")))
	})
	t.Run("no URL, no header", func(t *testing.T) {
		rec := lenstest.Start(t, client)
		rt := lenshttp.NewTransport(nil, client)
		_, err := rt.RoundTrip(&http.Request{Method: "GET"})
		require.Error(t, err)
		_, err = rt.RoundTrip(&http.Request{Method: "GET", URL: &url.URL{Scheme: "nothing", Host: "h"}})
		require.Error(t, err)
		require.Len(t, rec.Ended(), 1)
	})
}

func TestWhatIsSent(t *testing.T) {
	for _, test := range []struct {
		name   string
		on     []lens.SpanGroup
		opts   []lenshttp.Option
		parent bool // a span outside
		sent   bool
	}{
		{"off", nil, nil, true, false},
		{"off, propagating", nil, []lenshttp.Option{lenshttp.WithAlwaysPropagate()}, true, true},
		{"off, propagating nothing", nil, []lenshttp.Option{lenshttp.WithAlwaysPropagate()}, false, false},
		{"on", []lens.SpanGroup{client}, nil, false, true},
		{"on, no propagator", []lens.SpanGroup{client}, []lenshttp.Option{lenshttp.WithPropagators(propagation.NewCompositeTextMapPropagator())}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := lenstest.Start(t, test.on...)
			var sent *http.Request
			rt := lenshttp.NewTransport(roundTripFunc(func(r *http.Request) (*http.Response, error) {
				sent = r
				res := answer(200, http.NoBody)
				res.Request = r
				return res, nil
			}), client, test.opts...)
			ctx := context.Background()
			if test.parent {
				ctx, _ = lens.SpanCM(ctx, "outer")
				member, err := baggage.NewMember("user", "7")
				require.NoError(t, err)
				bag, err := baggage.New(member)
				require.NoError(t, err)
				ctx = baggage.ContextWithBaggage(ctx, bag)
			}
			req := request(t, ctx, "http://h/")
			res, err := rt.RoundTrip(req)
			require.NoError(t, err)
			require.Same(t, req, res.Request)
			require.Empty(t, req.Header)
			require.Equal(t, test.sent, sent.Header.Get("traceparent") != "")
			require.Equal(t, test.sent && test.parent, sent.Header.Get("baggage") != "")
			require.Equal(t, len(test.on) > 0, len(rec.Ended()) > 0)
			if !test.sent && len(test.on) == 0 && len(test.opts) == 0 {
				require.Same(t, req, sent)
			}
		})
	}
}

// One span for redirects, and for the retries of a loop of the program's own,
// though the transport makes spans, too.
func TestClientMakesOneSpan(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("on=%t", on), func(t *testing.T) {
			rec := lenstest.Start(t, groupsIf(on)...)
			mux := http.NewServeMux()
			mux.Handle("GET /old", http.RedirectHandler("/new", http.StatusFound))
			mux.Handle("GET /new", text("here"))
			srv, stop := start(t, lenshttp.NewHandler(mux, server), false)
			inner := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client)}
			c := lenshttp.NewClient(twice{inner}, client)
			_, got := get(t, c, srv.URL+"/old")
			c.CloseIdleConnections()
			stop()
			require.Equal(t, "here", got)
			if !on {
				require.Empty(t, rec.Ended())
				return
			}
			require.Equal(t, "GET\n  GET /old\n  GET /new\n  GET /old\n  GET /new\n", rec.Tree())
		})
	}
	t.Run("transport alone, a span a hop", func(t *testing.T) {
		rec := lenstest.Start(t, client)
		srv, stop := start(t, http.RedirectHandler("/", http.StatusFound), false)
		c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client),
			CheckRedirect: func(_ *http.Request, via []*http.Request) error {
				if len(via) == 3 {
					return http.ErrUseLastResponse
				}
				return nil
			}}
		get(t, c, srv.URL)
		stop()
		require.Len(t, rec.Ended(), 3)
	})
}

// twice sends every request two times.
type twice struct{ *http.Client }

func (c twice) Do(r *http.Request) (*http.Response, error) {
	res, err := c.Client.Do(r)
	if err == nil {
		res.Body.Close()
		return c.Client.Do(r)
	}
	return res, err
}

// A handler that is called without a network gets spans of its own.
func TestHandlerAsTransport(t *testing.T) {
	rec := lenstest.Start(t, client, server)
	leaf := lenshttp.NewTransport(roundTripFunc(func(*http.Request) (*http.Response, error) { return answer(200, http.NoBody), nil }), client)
	h := lenshttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := leaf.RoundTrip(request(t, r.Context(), "http://leaf/"))
		require.NoError(t, err)
	}), server)
	rt := lenshttp.NewTransport(roundTripFunc(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	}), client)
	res, err := rt.RoundTrip(request(t, context.Background(), "http://h/"))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "GET\n  GET\n    GET\n", rec.Tree())
}

func TestRequestBodyIsClosedOnce(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("on=%t", on), func(t *testing.T) {
			lenstest.Start(t, groupsIf(on)...)
			srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(w, r.Body)
			}), server), false)
			c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client)}
			b := body("payload")
			req, err := http.NewRequest(http.MethodPost, srv.URL, b)
			require.NoError(t, err)
			res, err := c.Do(req)
			require.NoError(t, err)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Same(t, b, req.Body)
			c.CloseIdleConnections()
			stop()
			require.Equal(t, "payload", string(got))
			require.Equal(t, 1, b.closes)
		})
	}
}

type idle struct {
	roundTripFunc
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

func TestCloseIdleConnections(t *testing.T) {
	t.Parallel()
	base := &idle{}
	(&http.Client{Transport: lenshttp.NewTransport(base, client)}).CloseIdleConnections()
	lenshttp.NewClient(&http.Client{Transport: base}, client).CloseIdleConnections()
	require.Equal(t, 2, base.closed)
}
