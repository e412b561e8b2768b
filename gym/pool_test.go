//go:build !lens_noop

package gym

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/gym/connpool"
	"github.com/nemo-lens/lens/lenstest"
)

const (
	destination = "nemo.gym.http.destination.server.name="
	constraint  = "nemo.gym.http.connection_pool.queue_constraint="
	outcome     = "nemo.gym.http.connection_pool.queue_outcome="
)

// fetch sends a request and reads the answer; it may run in any goroutine.
func fetch(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return err
}

// gatedServer answers each request when it is told to.
func gatedServer(t *testing.T) (url string, inside, leave chan struct{}) {
	inside, leave = make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-leave
	}))
	t.Cleanup(s.Close)
	return s.URL, inside, leave
}

// connects are the acquisitions since before: the totals are the process's.
func connects(m *readings, before map[string]float64) map[string]float64 {
	out := make(map[string]float64)
	for k, v := range m.values("gym.http.connection_pool.connect_total") {
		if v > before[k] {
			out[k] = v - before[k]
		}
	}
	return out
}

func newPool(t *testing.T, s PoolSettings) *connpool.Transport {
	t.Helper()
	p, err := NewPool(nil, s)
	require.NoError(t, err)
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// Case 69 below a client span: two calls on one slot, and a pool that replaces
// another.
func TestMetrics69Pool(t *testing.T) {
	captureLog(t, io.Discard)
	m := withMetrics(t, "agent")
	rec := lenstest.Start(t, HTTPClient)
	url, inside, leave := gatedServer(t)
	pool := newPool(t, PoolSettings{Limit: 1})
	client := &http.Client{Transport: Transport(pool)}
	before := m.values("gym.http.connection_pool.connect_total")
	ctx := WithDestination(context.Background(), "policy_model")
	results := make(chan error)
	go func() { results <- fetch(ctx, client, url) }()
	<-inside
	assert.Empty(t, m.histogram("gym.http.connection_pool.queue_duration_ms"), "no queue, no sample")
	go func() { results <- fetch(ctx, client, url) }()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, map[string]float64{destination + "policy_model": 2}, connects(m, before))
	}, 30*time.Second, time.Millisecond)
	leave <- struct{}{}
	require.NoError(t, <-results)
	<-inside
	leave <- struct{}{}
	require.NoError(t, <-results)
	assert.EqualValues(t, 1, countOf(m, "gym.http.connection_pool.queue_duration_ms", constraint+"total,"+outcome+"ok,"+destination+"policy_model"))
	assert.Len(t, rec.Ended(), 2, "client spans are kept")

	client.Transport = Transport(newPool(t, PoolSettings{Limit: 2})) // replaces it
	go func() { results <- fetch(context.Background(), client, url) }()
	<-inside
	leave <- struct{}{}
	require.NoError(t, <-results)
	assert.Equal(t, map[string]float64{destination + "policy_model": 2, destination + "external": 1}, connects(m, before))
}

// A request that gave up in the queue was a timeout, and its retry is another
// acquisition.
func TestMetrics69TimeoutThenRetry(t *testing.T) {
	captureLog(t, io.Discard)
	m := withMetrics(t, "agent")
	url, inside, leave := gatedServer(t)
	pool := newPool(t, PoolSettings{LimitPerHost: 1})
	before := m.values("gym.http.connection_pool.connect_total")
	results := make(chan error)
	ctx := WithDestination(context.Background(), DestinationRemoteAgent)
	go func() { results <- fetch(ctx, &http.Client{Transport: pool}, url) }()
	<-inside
	first := true
	attempt := roundTripper(func(r *http.Request) (*http.Response, error) {
		if !first {
			leave <- struct{}{} // the one that has the slot
			return pool.RoundTrip(r)
		}
		first = false
		limited, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond)
		defer cancel()
		return pool.RoundTrip(r.WithContext(limited))
	})
	go func() { results <- fetch(ctx, &http.Client{Transport: RetryTransport(attempt, atOnce)}, url) }()
	require.NoError(t, <-results)
	<-inside
	leave <- struct{}{}
	require.NoError(t, <-results)
	const remote = destination + "remote_agent_service"
	assert.Equal(t, map[string]float64{remote: 3}, connects(m, before))
	assert.EqualValues(t, 1, countOf(m, "gym.http.connection_pool.queue_duration_ms", constraint+"per_host,"+outcome+"abandoned,"+remote))
	assert.Equal(t, map[string]float64{internalNo: 1}, m.values("gym.http.timeout_total"))
	assert.Equal(t, map[string]float64{reason + "timeout": 1}, m.values("gym.http.retry_total"))
}

func TestPoolIsPlainWithoutMetrics(t *testing.T) {
	captureLog(t, io.Discard)
	reset(t)
	server := httptest.NewServer(answer(200))
	defer server.Close()
	pool := newPool(t, DefaultPoolSettings())
	assert.Equal(t, connpool.Limits{Total: 102400, PerHost: 1024}, pool.Limits())
	m := withMetrics(t, "") // too late for this pool
	client := &http.Client{Transport: pool}
	require.NoError(t, fetch(context.Background(), client, server.URL))
	assert.Empty(t, m.all())
}

func TestPoolReportsItsCapacityOnce(t *testing.T) {
	reset(t)
	var log bytes.Buffer
	captureLog(t, &log)
	poolReports = new(connpool.Reporter)
	intended := 77777
	s := PoolSettings{Limit: 77, LimitPerHost: 7, IntendedConcurrency: &intended, Workers: 1}
	for range 2 {
		p := newPool(t, s)
		assert.Equal(t, connpool.Limits{Total: 77, PerHost: 7}, p.Limits())
	}
	assert.Equal(t, 1, strings.Count(log.String(), "connection pool capacity"))
	assert.Equal(t, 1, strings.Count(log.String(), "intended concurrency of 77777 is above the total limit of 77"))
	_, err := NewPool(nil, PoolSettings{Limit: -1})
	require.ErrorContains(t, err, "global_aiohttp_connector_limit=-1")
	_, err = NewPool(nil, PoolSettings{Limit: 3, Workers: 4})
	require.Error(t, err)
}
