package connpool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// respond is a base that answers without a network.
type respond func(*http.Request) (*http.Response, error)

func (f respond) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func get(t testing.TB, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	return req
}

func TestSlotIsHeldUntilTheBodyEndsAndGivenBackOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		body io.ReadCloser
		held bool // after RoundTrip
		use  func(*testing.T, io.ReadCloser)
	}{
		"read to the end": {io.NopCloser(strings.NewReader("abc")), true, func(t *testing.T, b io.ReadCloser) {
			_, err := io.ReadAll(b)
			require.NoError(t, err)
		}},
		"closed unread": {io.NopCloser(strings.NewReader("abc")), true, func(t *testing.T, b io.ReadCloser) { require.NoError(t, b.Close()) }},
		"read error": {io.NopCloser(io.MultiReader(strings.NewReader("a"), failing{broken})), true, func(t *testing.T, b io.ReadCloser) {
			_, err := io.ReadAll(b)
			require.ErrorIs(t, err, broken)
		}},
		"everything, twice": {io.NopCloser(strings.NewReader("abc")), true, func(t *testing.T, b io.ReadCloser) {
			for range 2 {
				_, err := io.ReadAll(b)
				require.NoError(t, err)
				require.NoError(t, b.Close())
			}
		}},
		"no body":  {http.NoBody, false, func(*testing.T, io.ReadCloser) {}},
		"nil body": {nil, false, func(*testing.T, io.ReadCloser) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := New(respond(func(*http.Request) (*http.Response, error) { return &http.Response{Body: tc.body}, nil }), Limits{Total: 2, PerHost: 2}, nil)
			require.NoError(t, err)
			resp, err := p.RoundTrip(get(t, "http://h"))
			require.NoError(t, err)
			if !tc.held {
				assert.Zero(t, p.limiter.taken())
				return
			}
			require.Equal(t, 2, p.limiter.taken(), "one of the total, one of the host")
			tc.use(t, resp.Body)
			assert.Zero(t, p.limiter.taken())
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestSlotComesBackAfterErrorAndPanic(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	p, err := New(respond(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/panic" {
			panic("base")
		}
		return nil, boom
	}), Limits{Total: 1, PerHost: 1}, nil)
	require.NoError(t, err)
	_, err = p.RoundTrip(get(t, "http://h/"))
	require.ErrorIs(t, err, boom)
	assert.Zero(t, p.limiter.taken())
	assert.PanicsWithValue(t, "base", func() { _, _ = p.RoundTrip(get(t, "http://h/panic")) })
	assert.Zero(t, p.limiter.taken())
}

func TestUpgradedConnectionStaysWritable(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString("echo " + line)
		_ = rw.Flush()
	}))
	t.Cleanup(s.Close)
	p, c := newPool(t, Limits{Total: 1}, nil)
	req := get(t, s.URL)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := c.Do(req)
	require.NoError(t, err)
	w, ok := resp.Body.(io.Writer)
	require.True(t, ok)
	_, err = io.WriteString(w, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "echo hello\n", line)
	require.NoError(t, resp.Body.Close())
	assert.Zero(t, p.limiter.taken())
}

func TestQueuedRequestsFindTheConnectionOfTheOneBefore(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	_, c := newPool(t, Limits{Total: 1}, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { assert.NoError(t, fetch(background, c, s.URL)) })
	}
	all.Wait()
	assert.EqualValues(t, 1, opened.Load())
}

func TestNeverMoreThanTheLimitsUnderWay(t *testing.T) {
	t.Parallel()
	const total, perHost = 5, 2
	var mu sync.Mutex
	now, most := map[string]int{}, map[string]int{}
	step := func(host string, by int) {
		mu.Lock()
		defer mu.Unlock()
		for _, k := range []string{host, "total"} {
			now[k] += by
			most[k] = max(most[k], now[k])
		}
	}
	p, err := New(respond(func(r *http.Request) (*http.Response, error) {
		step(r.URL.Host, 1)
		if r.Context().Done() != nil { // ends before the slot comes back, as a connection of net/http does
			runtime.Gosched()
			step(r.URL.Host, -1)
			return nil, context.Cause(r.Context())
		}
		return &http.Response{Body: &onClose{Reader: strings.NewReader("abc"), do: func() { step(r.URL.Host, -1) }}}, nil
	}), Limits{Total: total, PerHost: perHost}, nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 100 {
				req := get(t, fmt.Sprintf("http://host%d", r.IntN(4)))
				if r.IntN(4) == 0 {
					ctx, cancel := context.WithCancel(background)
					go cancel() // before, during or after the wait
					req = req.WithContext(ctx)
				}
				resp, err := p.RoundTrip(req)
				if err == nil && resp != nil {
					_ = resp.Body.Close()
				}
			}
		})
	}
	all.Wait()
	assert.Zero(t, p.limiter.taken(), "every slot is back")
	assert.Zero(t, p.limiter.waiting())
	assert.LessOrEqual(t, most["total"], total)
	for h, n := range most {
		if h != "total" {
			assert.LessOrEqual(t, n, perHost, h)
		}
	}
}

type onClose struct {
	io.Reader
	do func()
}

func (o *onClose) Close() error { o.do(); return nil }

func TestUnlimitedPoolHasNoLimiter(t *testing.T) {
	t.Parallel()
	m, g := newMeter(t), newGate(t)
	close(g.open)
	p, c := newPool(t, Limits{}, m.metrics(t))
	assert.Nil(t, p.limiter)
	require.NoError(t, fetch(background, c, g.URL))
	_, _, connects := m.collect(t)
	assert.Equal(t, map[string]int64{"external": 1}, connects)
}

func TestIdleHostsAreForgotten(t *testing.T) {
	t.Parallel()
	p, err := New(respond(func(*http.Request) (*http.Response, error) { return &http.Response{}, nil }), Limits{Total: 1}, nil)
	require.NoError(t, err)
	for i := range 4 * idleHosts {
		_, err := p.RoundTrip(get(t, fmt.Sprintf("http://host%d", i)))
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, len(p.limiter.hosts), idleHosts)
}

func TestHostsAreToldApartAsConnectionsAre(t *testing.T) {
	t.Parallel()
	key := func(s string) hostKey {
		u, err := url.Parse(s)
		require.NoError(t, err)
		return keyOf(u)
	}
	assert.Equal(t, key("http://h:80/a"), key("http://H/b"))
	assert.Equal(t, key("https://h:443"), key("https://h"))
	assert.NotEqual(t, key("https://h"), key("http://h"))
	assert.NotEqual(t, key("http://h:81"), key("http://h"))
	assert.Equal(t, hostKey{"http", "::1", "8080"}, key("http://[::1]:8080"))
}

func TestNewChecksItsLimits(t *testing.T) {
	t.Parallel()
	for _, l := range []Limits{{Total: -1}, {PerHost: -1}} {
		_, err := New(nil, l, nil)
		require.ErrorContains(t, err, "want whole numbers of at least 0")
	}
	p, err := New(nil, Limits{Total: 7, PerHost: 3}, nil)
	require.NoError(t, err)
	assert.Equal(t, Limits{Total: 7, PerHost: 3}, p.Limits())
	base := p.base.(*http.Transport)
	assert.Equal(t, 7, base.MaxIdleConns)
	assert.Equal(t, 3, base.MaxIdleConnsPerHost)
	assert.Equal(t, math.MaxInt, NewBase(Limits{}).MaxIdleConnsPerHost)
	_, err = p.RoundTrip(&http.Request{})
	require.Error(t, err)
}
