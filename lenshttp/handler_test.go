//go:build !lens_noop

package lenshttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

const (
	server = lens.SpanGroup("server")
	client = lens.SpanGroup("http_client")
)

// attrs returns the attributes of a span as text.
func attrs(s sdktrace.ReadOnlySpan) map[string]string {
	m := map[string]string{}
	for _, kv := range s.Attributes() {
		m[string(kv.Key)] = kv.Value.String()
	}
	return m
}

func events(s sdktrace.ReadOnlySpan) (names []string) {
	for _, e := range s.Events() {
		names = append(names, e.Name)
	}
	return names
}

func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) })
}

func TestServerSpan(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", http2), func(t *testing.T) {
			rec := lenstest.Start(t, server)
			mux := http.NewServeMux()
			mux.Handle("GET /items/{id}", text("hello"))
			srv, stop := start(t, lenshttp.NewHandler(mux, server), http2)
			res, got := get(t, srv.Client(), srv.URL+"/items/7?token=SECRET#frag")
			require.Equal(t, "hello", got)
			require.Equal(t, http2, res.ProtoMajor == 2)
			stop()

			s := rec.One("GET /items/{id}")
			require.Equal(t, trace.SpanKindServer, s.SpanKind())
			require.False(t, s.Parent().IsValid())
			require.Equal(t, codes.Unset, s.Status().Code)
			a := attrs(s)
			require.Equal(t, "/items/{id}", a["http.route"])
			require.Equal(t, "200", a["http.response.status_code"])
			require.Equal(t, "5", a["http.response.body.size"])
			require.Equal(t, "GET", a["http.request.method"])
			require.Equal(t, "/items/7", a["url.path"])
			require.NotContains(t, fmt.Sprint(a), "SECRET")
		})
	}
}

func TestServerSpanName(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", text("x"))
	mux.Handle("/any/", text("x"))
	mux.Handle("POST example.com/hosted", text("x"))
	copying := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, 1)))
		})
	}
	fromMux := lenshttp.WithRoute(func(r *http.Request) string { _, p := mux.Handler(r); return p })
	outer := func(h http.Handler) http.Handler {
		m := http.NewServeMux()
		m.Handle("GET /items/{id}", h)
		return m
	}
	for _, test := range []struct {
		name, method, path string
		handler            http.Handler
		want, route        string
	}{
		{"mux inside", "GET", "/items/1", lenshttp.NewHandler(mux, server), "GET /items/{id}", "/items/{id}"},
		{"mux inside, HEAD", "HEAD", "/items/1", lenshttp.NewHandler(mux, server), "HEAD /items/{id}", "/items/{id}"},
		{"subtree", "DELETE", "/any/a/b", lenshttp.NewHandler(mux, server), "DELETE /any/", "/any/"},
		{"host in the pattern", "POST", "/hosted", lenshttp.NewHandler(mux, server), "POST /hosted", "/hosted"},
		{"no route", "GET", "/secret/123", lenshttp.NewHandler(mux, server), "GET", ""},
		{"wrong method", "PUT", "/items/1", lenshttp.NewHandler(mux, server), "PUT", ""},
		{"odd method", "BREW", "/any/pot", lenshttp.NewHandler(mux, server), "HTTP /any/", "/any/"},
		{"no mux", "GET", "/items/1", lenshttp.NewHandler(text("x"), server), "GET", ""},
		{"mux outside", "GET", "/items/1", outer(lenshttp.NewHandler(text("x"), server)), "GET /items/{id}", "/items/{id}"},
		{"copy in between", "GET", "/items/1", lenshttp.NewHandler(copying(mux), server), "GET", ""},
		{"copy in between, asked", "GET", "/items/1", lenshttp.NewHandler(copying(mux), server, fromMux), "GET /items/{id}", "/items/{id}"},
		{"another router", "GET", "/u/1", lenshttp.Middleware(server, lenshttp.WithRoute(func(*http.Request) string { return "/u/:id" }))(text("x")), "GET /u/:id", "/u/:id"},
		{"own name", "GET", "/items/1", lenshttp.NewHandler(mux, server, lenshttp.WithSpanName(lenshttp.MethodName)), "HTTP GET", "/items/{id}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := lenstest.Start(t, server)
			r := httptest.NewRequest(test.method, "http://example.com"+test.path, nil)
			test.handler.ServeHTTP(httptest.NewRecorder(), r)
			require.Equal(t, test.route, attrs(rec.One(test.want))["http.route"])
		})
	}
}

func TestPatternIsSeenFurtherOut(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", text("x"))
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("on=%t", on), func(t *testing.T) {
			lenstest.Start(t, groupsIf(on)...)
			r := httptest.NewRequest("GET", "/items/1", nil)
			r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			lenshttp.NewHandler(mux, server, lenshttp.WithAlwaysPropagate()).ServeHTTP(httptest.NewRecorder(), r)
			require.Equal(t, "GET /items/{id}", r.Pattern)
		})
	}
}

// groupsIf returns both groups, or none.
func groupsIf(on bool) []lens.SpanGroup {
	if on {
		return []lens.SpanGroup{server, client}
	}
	return nil
}

func TestServerStatus(t *testing.T) {
	none := lenshttp.WithErrorStatus(func(int) bool { return false })
	for _, test := range []struct {
		code    int
		opts    []lenshttp.Option
		status  codes.Code
		errType string
	}{
		{204, nil, codes.Unset, ""},
		{302, nil, codes.Unset, ""},
		{404, nil, codes.Unset, ""},
		{500, nil, codes.Error, "500"},
		{503, nil, codes.Error, "503"},
		{503, []lenshttp.Option{none}, codes.Unset, ""},
	} {
		t.Run(fmt.Sprint(test.code), func(t *testing.T) {
			rec := lenstest.Start(t, server)
			h := lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.code) }), server, test.opts...)
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			s := rec.One("GET")
			require.Equal(t, test.status, s.Status().Code)
			require.Equal(t, fmt.Sprint(test.code), attrs(s)["http.response.status_code"])
			require.Equal(t, test.errType, attrs(s)["error.type"])
		})
	}
	t.Run("Ok stays", func(t *testing.T) {
		rec := lenstest.Start(t, server)
		h := lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			trace.SpanFromContext(r.Context()).SetStatus(codes.Ok, "")
			w.WriteHeader(500)
		}), server)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		require.Equal(t, codes.Ok, rec.One("GET").Status().Code)
	})
}

// served calls h and returns what it panicked with.
func served(h http.Handler, w http.ResponseWriter, r *http.Request) (v any) {
	defer func() { v = recover() }()
	h.ServeHTTP(w, r)
	return nil
}

func TestServerPanic(t *testing.T) {
	boom := errors.New("boom")
	type key struct{ n []int } // not comparable
	var nilMap map[string]int
	for _, test := range []struct {
		name   string
		fail   func(http.ResponseWriter, *http.Request)
		code   string
		status codes.Code
		events []string
		same   any
	}{
		{"error", func(http.ResponseWriter, *http.Request) { panic(boom) }, "", codes.Error, []string{"exception"}, boom},
		{"after the head", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202); panic(boom) }, "202", codes.Error, []string{"exception"}, boom},
		{"not comparable", func(http.ResponseWriter, *http.Request) { panic(key{[]int{1}}) }, "", codes.Error, []string{"exception"}, nil},
		{"runtime error", func(http.ResponseWriter, *http.Request) { nilMap["x"] = 1 }, "", codes.Error, []string{"exception"}, nil},
		{"seen by an inner span first", func(_ http.ResponseWriter, r *http.Request) {
			_, span := lens.ManagedSpan(r.Context(), server, "inner")
			defer lens.End(span, nil)
			panic(boom)
		}, "", codes.Error, nil, boom},
		{"abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", codes.Unset, []string{"response aborted"}, http.ErrAbortHandler},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := lenstest.Start(t, server)
			mux := http.NewServeMux()
			mux.HandleFunc("/fail/{how}", test.fail)
			v := served(lenshttp.NewHandler(mux, server), httptest.NewRecorder(), httptest.NewRequest("GET", "/fail/now", nil))
			require.NotNil(t, v)
			if test.same != nil {
				require.Equal(t, test.same, v)
			}
			s := rec.One("GET /fail/{how}")
			require.Equal(t, test.status, s.Status().Code)
			require.Equal(t, test.events, events(s))
			require.Equal(t, test.code, attrs(s)["http.response.status_code"])
			if test.name == "error" {
				require.Equal(t, "*errors.errorString", attrs(s)["error.type"])
				for _, kv := range s.Events()[0].Attributes {
					if kv.Key == "exception.stacktrace" {
						require.Contains(t, kv.Value.AsString(), "TestServerPanic")
					}
				}
			}
		})
	}
}

func TestServerPanicsOverTheWire(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, v := range []any{"boom", http.ErrAbortHandler} {
			t.Run(fmt.Sprintf("http2=%t/%v", http2, v), func(t *testing.T) {
				rec := lenstest.Start(t, server)
				srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "half")
					_ = http.NewResponseController(w).Flush()
					panic(v)
				}), server), http2)
				res, err := srv.Client().Get(srv.URL)
				require.NoError(t, err)
				_, err = io.ReadAll(res.Body)
				require.Error(t, err, "the client must see that the answer is cut")
				require.NoError(t, res.Body.Close())
				stop()
				s := rec.One("GET")
				require.Equal(t, v != http.ErrAbortHandler, s.Status().Code == codes.Error)
				require.Equal(t, "200", attrs(s)["http.response.status_code"])
			})
		}
	}
}

func TestServerGoexit(t *testing.T) {
	rec := lenstest.Start(t, server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lenshttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }), server).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}()
	<-done
	rec.One("GET")
}

func TestIncomingTraceContext(t *testing.T) {
	const ids = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
	for _, test := range []struct {
		header  string
		adopted bool
	}{
		{"00-" + ids + "-01", true},
		{"00-" + ids + "-ff", true},
		{"cc-" + ids + "-01", true},
		{"cc-" + ids + "-01-more-to-come", true},
		{"ff-" + ids + "-01", false},
		{"00-" + ids + "-01-x", false},
		{"00-" + strings.ToUpper(ids) + "-01", false},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
		{"nonsense", false},
		{"", false},
	} {
		t.Run(test.header, func(t *testing.T) {
			rec := lenstest.Start(t, server)
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("traceparent", test.header)
			lenshttp.NewHandler(text("x"), server).ServeHTTP(httptest.NewRecorder(), r)
			s := rec.One("GET")
			require.Equal(t, test.adopted, s.Parent().IsValid())
			if test.adopted {
				require.True(t, s.Parent().IsRemote())
				require.Equal(t, "0af7651916cd43dd8448eb211c80319c", s.SpanContext().TraceID().String())
				require.Equal(t, "b7ad6b7169203331", s.Parent().SpanID().String())
			}
		})
	}
	t.Run("odd company", func(t *testing.T) {
		rec := lenstest.Start(t, server)
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("traceparent", "00-"+ids+"-01")
		r.Header.Set("tracestate", strings.Repeat("=,;", 10_000))
		r.Header.Set("baggage", strings.Repeat("k=v,", 10_000))
		lenshttp.NewHandler(text("x"), server).ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, "b7ad6b7169203331", rec.One("GET").Parent().SpanID().String())
		require.Zero(t, rec.One("GET").SpanContext().TraceState().Len())
	})
	t.Run("public endpoint", func(t *testing.T) {
		rec := lenstest.Start(t, server)
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("traceparent", "00-"+ids+"-01")
		lenshttp.NewHandler(text("x"), server, lenshttp.WithPublicEndpoint()).ServeHTTP(httptest.NewRecorder(), r)
		s := rec.One("GET")
		require.False(t, s.Parent().IsValid())
		require.NotEqual(t, "0af7651916cd43dd8448eb211c80319c", s.SpanContext().TraceID().String())
		require.Len(t, s.Links(), 1)
	})
}

func TestWhatHasNoServerSpan(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	excluded := lenshttp.WithExcludedPaths("/healthz", "/internal/")
	filtered := lenshttp.WithFilter(func(r *http.Request) bool { return r.Header.Get("X-Probe") == "" })
	for _, test := range []struct {
		name, path string
		on         []lens.SpanGroup
		opts       []lenshttp.Option
		spans      int
		propagated bool
	}{
		{"on", "/x", []lens.SpanGroup{server}, nil, 1, true},
		{"off", "/x", nil, nil, 0, false},
		{"off, propagating", "/x", nil, []lenshttp.Option{lenshttp.WithAlwaysPropagate()}, 0, true},
		{"excluded", "/healthz", []lens.SpanGroup{server}, []lenshttp.Option{excluded}, 0, false},
		{"excluded below", "/internal/debug/x", []lens.SpanGroup{server}, []lenshttp.Option{excluded}, 0, false},
		{"excluded, propagating", "/healthz", []lens.SpanGroup{server}, []lenshttp.Option{excluded, lenshttp.WithAlwaysPropagate()}, 0, true},
		{"not excluded", "/healthz2", []lens.SpanGroup{server}, []lenshttp.Option{excluded}, 1, true},
		{"filtered", "/x", []lens.SpanGroup{server}, []lenshttp.Option{filtered}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := lenstest.Start(t, test.on...)
			r := httptest.NewRequest("GET", test.path, nil)
			r.Header.Set("traceparent", parent)
			if test.name == "filtered" {
				r.Header.Set("X-Probe", "1")
			}
			var seen trace.SpanContext
			var same bool
			lenshttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, inner *http.Request) {
				seen, same = trace.SpanContextFromContext(inner.Context()), inner == r
			}), server, test.opts...).ServeHTTP(httptest.NewRecorder(), r)
			require.Len(t, rec.Ended(), test.spans)
			require.Equal(t, test.propagated, seen.IsValid())
			require.Equal(t, !test.propagated, same, "a bare handler gets the request itself")
			if test.propagated {
				require.Equal(t, "0af7651916cd43dd8448eb211c80319c", seen.TraceID().String())
			}
		})
	}
}

func TestGroupIsReadPerRequest(t *testing.T) {
	rec := lenstest.Start(t)
	h := lenshttp.NewHandler(text("x"), server)
	for i, want := range []int{0, 1, 1, 2} {
		lens.SetEnabledSpanGroups([][]lens.SpanGroup{{}, {server}}[i%2]...)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		require.Len(t, rec.Ended(), want)
	}
}

func TestServerAttributesAndScope(t *testing.T) {
	rec := lenstest.Start(t, server)
	h := lenshttp.NewHandler(text("x"), server, lenshttp.WithScope("nemo.gym"),
		lenshttp.WithAttributes(func(r *http.Request) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("rollout", r.Header.Get("X-Rollout"))}
		}))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Rollout", "7-2")
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, "7-2", attrs(rec.One("GET"))["rollout"])
	require.Equal(t, "nemo.gym", rec.One("GET").InstrumentationScope().Name)
}

// The first event must be there while the handler still runs.
func TestServerSentEvents(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", http2), func(t *testing.T) {
			rec := lenstest.Start(t, server)
			more := make(chan struct{})
			srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "data: 1\n\n")
				w.(http.Flusher).Flush()
				<-more
				fmt.Fprint(w, "data: 2\n\n")
			}), server), http2)
			res, err := srv.Client().Get(srv.URL)
			require.NoError(t, err)
			lines := bufio.NewReader(res.Body)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "data: 1\n", line)
			require.Empty(t, rec.Ended())
			close(more)
			_, err = io.ReadAll(lines)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			stop()
			require.Equal(t, "18", attrs(rec.One("GET"))["http.response.body.size"])
		})
	}
}

func TestTrailersAndInformationalAnswers(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", http2), func(t *testing.T) {
			rec := lenstest.Start(t, server, client)
			srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Link", "</style.css>")
				w.WriteHeader(http.StatusEarlyHints)
				sent, _ := io.ReadAll(r.Body)
				w.Header().Set("Trailer", "X-Sum")
				w.WriteHeader(http.StatusAccepted)
				_, _ = w.Write(sent)
				w.Header().Set("X-Sum", r.Trailer.Get("X-In"))
			}), server), http2)
			hints := 0
			ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { hints = code; return nil }})
			// The trailer gets its value while the body is read.
			trailer := http.Header{"X-In": nil}
			out := io.MultiReader(strings.NewReader("abc"), readFunc(func([]byte) (int, error) { trailer.Set("X-In", "42"); return 0, io.EOF }))
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, out)
			require.NoError(t, err)
			req.Trailer = trailer
			c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client)}
			res, err := c.Do(req)
			require.NoError(t, err)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			stop()
			require.Equal(t, "abc", string(got))
			require.Equal(t, http.StatusEarlyHints, hints)
			require.Equal(t, "42", res.Trailer.Get("X-Sum"))
			for _, s := range rec.Ended() {
				require.Equal(t, "202", attrs(s)["http.response.status_code"])
			}
			require.Len(t, rec.Ended(), 2)
		})
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestHijackedConnection(t *testing.T) {
	rec := lenstest.Start(t, server, client)
	srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
	}), server), false)
	req, err := http.NewRequest(http.MethodGet, srv.URL, nil)
	require.NoError(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client)}
	res, err := c.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, res.StatusCode)
	rw, ok := res.Body.(io.ReadWriteCloser)
	require.True(t, ok, "the body of a 101 can be written to")
	_, err = io.WriteString(rw, "hello\n")
	require.NoError(t, err)
	got, err := bufio.NewReader(rw).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "echo hello\n", got)
	require.NoError(t, rw.Close())
	stop()
	require.Eventually(t, func() bool { return len(rec.Ended()) == 2 }, 30*time.Second, time.Millisecond)
	for _, s := range rec.Ended() {
		if s.SpanKind() == trace.SpanKindServer {
			require.Equal(t, "", attrs(s)["http.response.status_code"], "what a hijacker answers is not known")
			continue
		}
		require.Equal(t, "101", attrs(s)["http.response.status_code"])
	}
}

func TestAbortedRequest(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", http2), func(t *testing.T) {
			rec := lenstest.Start(t, server, client)
			ctx, cancel := context.WithCancel(context.Background())
			srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				cancel() // the caller goes away
				<-r.Context().Done()
			}), server), http2)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
			require.NoError(t, err)
			c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client)}
			_, err = c.Do(req) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, context.Canceled)
			stop()
			require.Len(t, rec.Ended(), 2)
			for _, s := range rec.Ended() {
				require.Equal(t, codes.Unset, s.Status().Code)
				require.NotContains(t, attrs(s), "http.response.status_code", "nothing was answered")
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	t.Run("http.TimeoutHandler", func(t *testing.T) {
		rec := lenstest.Start(t, server)
		slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		srv, stop := start(t, lenshttp.NewHandler(http.TimeoutHandler(slow, time.Millisecond, "late"), server), false)
		res, got := get(t, srv.Client(), srv.URL)
		stop()
		require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
		require.Equal(t, "late", got)
		require.Equal(t, codes.Error, rec.One("GET").Status().Code)
		require.Equal(t, "503", attrs(rec.One("GET"))["error.type"])
	})
	t.Run("http.Client", func(t *testing.T) {
		rec := lenstest.Start(t, client)
		srv, stop := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), false)
		c := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, client), Timeout: 10 * time.Millisecond}
		_, err := c.Get(srv.URL) //nolint:bodyclose // there is none
		require.Error(t, err)
		stop()
		require.Equal(t, codes.Error, rec.One("GET").Status().Code)
		require.Equal(t, []string{"exception"}, events(rec.One("GET")))
	})
}

// ReaderFrom is kept, so that net/http can use sendfile, and its bytes count.
func TestServeFile(t *testing.T) {
	rec := lenstest.Start(t, server)
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte("x"), 100_000), 0o600))
	srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, name)
	}), server), false)
	_, got := get(t, srv.Client(), srv.URL)
	stop()
	require.Len(t, got, 100_000)
	require.Equal(t, "100000", attrs(rec.One("GET"))["http.response.body.size"])
}

// net/http removes the files of a form that it finds on the request it made.
func TestMultipartFilesAreRemoved(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprintf("on=%t", on), func(t *testing.T) {
			lenstest.Start(t, groupsIf(on)...)
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			count := make(chan int, 1)
			srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if err := r.ParseMultipartForm(1); err != nil {
					panic(err)
				}
				files, _ := os.ReadDir(dir)
				count <- len(files)
			}), server, lenshttp.WithAlwaysPropagate()), false)
			var form bytes.Buffer
			parts := multipart.NewWriter(&form)
			file, err := parts.CreateFormFile("f", "f")
			require.NoError(t, err)
			_, err = file.Write(bytes.Repeat([]byte("x"), 11<<20))
			require.NoError(t, err)
			require.NoError(t, parts.Close())
			req, err := http.NewRequest(http.MethodPost, srv.URL, &form)
			require.NoError(t, err)
			req.Header.Set("Content-Type", parts.FormDataContentType())
			req.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			res, err := srv.Client().Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			stop()
			require.Equal(t, 1, <-count)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
