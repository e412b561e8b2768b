//go:build !lens_noop

package gym

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

// An error that a handler writes when its caller has left was not the caller's outcome.
func TestFieldD1OutcomeAfterTheCallerLeft(t *testing.T) {
	for name, late := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) },
		"200": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "late") },
	} {
		t.Run(name, func(t *testing.T) {
			m := withMetrics(t, "")
			rec := lenstest.Start(t, ModelCall)
			ctx, leave := context.WithCancel(context.Background())
			server := httptest.NewServer(TracedModelCall(SpanModelResponses, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				leave()
				<-r.Context().Done()
				late(w, r)
			})))
			defer server.Close()
			req, err := http.NewRequestWithContext(ctx, "POST", server.URL, nil)
			require.NoError(t, err)
			_, err = server.Client().Do(req) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, context.Canceled)
			server.Close()
			points := m.histogram("gym.model_call.duration_ms")
			require.Len(t, points, 1)
			assert.Equal(t, "canceled", attributesOfSet(points[0].Attributes)["nemo.gym.model_call.outcome"])
			assert.Equal(t, codes.Unset, rec.One(SpanModelResponses).Status().Code)
		})
	}
}

func TestFieldD1OutcomeBehindATimeoutHandler(t *testing.T) {
	m := withMetrics(t, "")
	lenstest.Start(t, ModelCall)
	sent, done := make(chan struct{}), make(chan struct{})
	inner := TracedModelCall(SpanModelResponses, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "text")
		<-sent
	}))
	server := httptest.NewServer(http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		inner.ServeHTTP(w, r)
	}), time.Millisecond, "late"))
	defer server.Close()
	res, err := server.Client().Post(server.URL, "", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	close(sent)
	<-done
	points := m.histogram("gym.model_call.duration_ms")
	require.Len(t, points, 1)
	assert.Equal(t, "timeout", attributesOfSet(points[0].Attributes)["nemo.gym.model_call.outcome"])
}

// net/http removes the files of a form that it finds on the request it made.
func TestFieldD3MultipartFilesAreRemoved(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"RolloutPath":    RolloutPath,
		"RolloutBody":    RolloutBody,
		"TracedEndpoint": func(h http.Handler) http.Handler { return TracedEndpoint(Agent, "x", h) },
		"all": func(h http.Handler) http.Handler {
			return Middleware(RolloutPath(RolloutBody(TracedModelCall("x", h))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			lenstest.Start(t, Server, Agent, ModelCall)
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			count := make(chan int, 1)
			server := httptest.NewServer(wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				assert.NoError(t, r.ParseMultipartForm(1))
				files, err := os.ReadDir(dir)
				assert.NoError(t, err)
				count <- len(files)
			})))
			defer server.Close()
			var form bytes.Buffer
			parts := multipart.NewWriter(&form)
			file, err := parts.CreateFormFile("f", "f")
			require.NoError(t, err)
			_, err = file.Write(bytes.Repeat([]byte("x"), 11<<20))
			require.NoError(t, err)
			require.NoError(t, parts.Close())
			res, err := server.Client().Post(server.URL+"/ng-rollout/r1/upload", parts.FormDataContentType(), &form)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			server.Close()
			require.Equal(t, 1, <-count)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// The span of the middleware has the route that a router of a copy found,
// behind the handlers of this package and behind others.
func TestFieldD3RouteBehindACopy(t *testing.T) {
	rec := lenstest.Start(t, Server)
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", TracedAgent(answer(200)))
	h := Middleware(RolloutPath(http.StripPrefix("/api", TracedEndpoint(Agent, "x", mux))))
	lens.SetEnabledSpanGroups(Server, Agent)
	r := httptest.NewRequest("GET", "/ng-rollout/r1/api/items/7", nil)
	serve(h, r)
	rec.One("GET /items/{id}")

	lens.SetEnabledSpanGroups()
	r = httptest.NewRequest("GET", "/ng-rollout/r1/items/7", nil)
	serve(RolloutPath(mux), r)
	assert.Equal(t, "7", r.PathValue("id"), "for a logger further out")
}

// A redirect of the router below the prefix stays in the rollout.
func TestFieldD10RedirectKeepsTheRollout(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/tree/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, RolloutID(r.Context())+" "+r.URL.Path)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("url"), http.StatusFound)
	})
	mux.HandleFunc("/created", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/items/1")
		w.WriteHeader(http.StatusCreated)
	})
	server := httptest.NewServer(RolloutPath(mux))
	defer server.Close()
	for path, want := range map[string]string{
		"/ng-rollout/r1/tree":                        "r1 /tree/",
		"/tree":                                      " /tree/",
		"/ng-rollout/r1/to?url=/tree/a":              "r1 /tree/a",
		"/ng-rollout/r1/to?url=tree/b":               "r1 /tree/b",
		"/ng-rollout/r1/to?url=/ng-rollout/r2/tree/": "r2 /tree/",
	} {
		res, err := server.Client().Get(server.URL + path)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, want, string(text), path)
	}
	for path, want := range map[string]string{
		"/ng-rollout/r1/to?url=//other/x":      "//other/x",
		"/ng-rollout/r1/to?url=http://other/x": "http://other/x",
		"/ng-rollout/r1/created":               "/items/1",
		"/ng-rollout/r1/tree?a=b":              "/ng-rollout/r1/tree/?a=b",
	} {
		assert.Equal(t, want, serve(RolloutPath(mux), httptest.NewRequest("GET", path, nil)).Header().Get("Location"), path)
	}
	server.Client().CloseIdleConnections()
}

func TestFieldD11KeepAliveIsNoToken(t *testing.T) {
	for _, tc := range []struct {
		stream string
		at     int // how many bytes have come when the first data is seen; 0 never
	}{
		{"data: a\n\n", 5},
		{": ping\n\n", 0},
		{": data: no\n\nid: 1\nretry: 5\nevent: x\n\n", 0},
		{": ping\n\n: ping\r\n\r\nevent: m\ndata:x\n\n", 32},
		{"dat: a\ndatax: b\n data: c\n", 0},
	} {
		for size := 1; size <= len(tc.stream); size++ {
			var f firstData
			at := 0
			for end := size; at == 0; end += size {
				end = min(end, len(tc.stream))
				if f.in([]byte(tc.stream[max(0, (end-1)/size*size):end])) {
					at = end
				}
				if end == len(tc.stream) {
					break
				}
			}
			if tc.at == 0 {
				require.Zero(t, at, "%q by %d", tc.stream, size)
			} else {
				require.Equal(t, min((tc.at+size-1)/size*size, len(tc.stream)), at, "%q by %d", tc.stream, size)
			}
		}
	}

	m := withMetrics(t, "")
	lenstest.Start(t, ModelCall)
	call := func(h http.HandlerFunc) {
		serve(TracedModelCall(SpanModelResponses, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			h(w, r)
		})), httptest.NewRequest("POST", "/", nil))
	}
	call(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, ": ping\n\n") })
	call(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader(": ping\n\n")) })
	assert.Empty(t, m.histogram("gym.model_call.ttft_ms"))
	var told time.Duration
	call(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: {\"type\": \"message_start\"}\n\n")
		c := ModelCallFrom(r.Context())
		seen := c.first
		for time.Since(c.began) == seen {
		}
		c.FirstToken()
		told = c.first
		assert.Greater(t, told, seen, "the handler knows better")
		c.FirstToken()
		assert.Equal(t, told, c.first, "once")
		_, _ = io.WriteString(w, "data: {}\n\n")
		assert.Equal(t, told, c.first)
	})
	points := m.histogram("gym.model_call.ttft_ms")
	require.Len(t, points, 1)
	assert.InDelta(t, milliseconds(told), points[0].Sum, 1e-9)
}
