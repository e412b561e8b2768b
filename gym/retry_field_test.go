package gym

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// stalled is a body that says nothing until its request's context ends.
type stalled struct{ ctx context.Context }

func (b stalled) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, b.ctx.Err() }
func (stalled) Close() error               { return nil }

func TestFieldD5AnErrorBodyThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, sends := time.Now(), 0
		rt := RetryTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if sends++; sends == 1 {
				return response(503, stalled{r.Context()}), nil
			}
			return response(200, body("x")), nil
		}), Retry{Wait: noWait})
		res, err := rt.RoundTrip(getRequest(t, context.Background()))
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
		require.NoError(t, res.Body.Close())
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestFieldD5AServerThatHangs(t *testing.T) {
	for _, c := range []struct {
		name, method string
		timeout      time.Duration
		hangs, sends int
		took         time.Duration
	}{
		{"a minute by default", "GET", 0, 1, 2, time.Minute},
		{"chosen", "GET", time.Second, 2, 3, 2 * time.Second},
		{"always", "GET", time.Second, 3, 3, 3 * time.Second},
		{"chosen for a POST, which is not repeated", "POST", time.Second, 1, 1, time.Second},
		{"none for a POST by default", "POST", 0, 1, 1, time.Hour},
		{"none", "GET", -1, 1, 1, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, sends := time.Now(), 0
				rt := RetryTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
					if sends++; sends <= c.hangs {
						<-r.Context().Done()
						return nil, context.Cause(r.Context())
					}
					// A body may take longer than the attempt.
					return response(200, io.NopCloser(slow{r.Context(), 2 * time.Minute})), nil
				}), Retry{Wait: noWait, Timeout: c.timeout})
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				req := getRequest(t, ctx)
				req.Method = c.method
				res, err := rt.RoundTrip(req)
				require.Equal(t, c.sends, sends)
				require.Equal(t, c.took, time.Since(began))
				if c.sends <= c.hangs {
					timeout, ok := errors.AsType[net.Error](err)
					require.True(t, ok, "%v", err)
					require.True(t, timeout.Timeout())
					return
				}
				require.NoError(t, err)
				text, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				require.Equal(t, "late", string(text))
				require.NoError(t, res.Body.Close())
			})
		})
	}
}

// slow is a body that takes its time and then is there, unless its context ends.
type slow struct {
	ctx context.Context
	d   time.Duration
}

func (s slow) Read(p []byte) (int, error) {
	select {
	case <-time.After(s.d):
		return copy(p, "late"), io.EOF
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// Over a real connection: the hanging request is given up, and another one sent.
func TestFieldD5OverTheWire(t *testing.T) {
	sends := make(chan struct{}, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sends <- struct{}{}
		switch len(sends) {
		case 1:
			<-r.Context().Done()
		case 2:
			w.WriteHeader(503)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, "x")
		}
	}))
	defer srv.Close()
	rt := RetryTransport(srv.Client().Transport, Retry{Attempts: 10, Wait: noWait, Timeout: time.Second})
	res, err := rt.RoundTrip(getRequest(t, context.Background(), srv.URL))
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.NoError(t, res.Body.Close())
	require.GreaterOrEqual(t, len(sends), 3)
}

func getRequest(t *testing.T, ctx context.Context, url ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, append(url, "http://h/")[0], nil)
	require.NoError(t, err)
	return req
}
