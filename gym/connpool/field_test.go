package connpool

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// net/http closes the connection of a request whose context ends, whether or
// not its body is closed: the slot is free then.
func TestFieldD4CancelledWithoutClose(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
		}
	}))
	defer srv.Close()
	p, c := newPool(t, Limits{Total: 1}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/hang", nil)
	require.NoError(t, err)
	res, err := c.Do(req)
	require.NoError(t, err)
	cancel()
	limit, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	require.NoError(t, fetch(limit, c, srv.URL), "the slot is free")
	require.NoError(t, res.Body.Close(), "late, and it gives nothing back twice")
	require.Zero(t, p.limiter.taken())
}

// A body that was read or closed gives its slot back once, whatever its context does later.
func TestFieldD4CancelledAfterTheEnd(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
	defer srv.Close()
	p, c := newPool(t, Limits{Total: 1}, nil)
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		require.NoError(t, fetch(ctx, c, srv.URL))
		cancel()
	}
	require.Zero(t, p.limiter.taken())
}

// A connection that has switched protocols is the caller's: its slot outlives
// the context, and it can be half-closed.
func TestFieldD2HalfClose(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		all, _ := io.ReadAll(rw)
		_, _ = conn.Write(all)
	}))
	defer srv.Close()
	p, _ := newPool(t, Limits{Total: 1}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
	require.NoError(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	res, err := p.RoundTrip(req)
	require.NoError(t, err)
	_, err = io.WriteString(res.Body.(io.Writer), "ping")
	require.NoError(t, err)
	require.NotZero(t, p.limiter.taken())
	require.NoError(t, res.Body.(interface{ CloseWrite() error }).CloseWrite())
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "ping", string(got))
	require.NoError(t, res.Body.Close())
	require.Zero(t, p.limiter.taken())
}
