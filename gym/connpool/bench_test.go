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

// BenchmarkRoundTrip compares the pool, with nothing queueing, to the transport below it: requests over one kept-alive
// connection to a server on the loopback interface, answers of 256 bytes, read and closed. Both take turns request
// by request, so that the machine's moods hit both alike. pool/plain is the ratio of the mean times.
func BenchmarkRoundTrip(b *testing.B) {
	answer := make([]byte, 256)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }))
	defer s.Close()
	m := newMeter(b)
	base, plain := NewBase(Limits{}), NewBase(Limits{})
	defer base.CloseIdleConnections()
	defer plain.CloseIdleConnections()
	pool, err := New(base, Limits{Total: DefaultLimit, PerHost: DefaultLimitPerHost}, m.metrics(b))
	require.NoError(b, err)
	req, err := http.NewRequestWithContext(WithDestination(context.Background(), "policy_model"), http.MethodGet, s.URL, nil)
	require.NoError(b, err)
	once := func(rt http.RoundTripper) time.Duration {
		start := time.Now()
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return time.Since(start)
	}
	once(pool)
	once(plain)
	var inPool, inPlain time.Duration
	for i := 0; b.Loop(); i++ {
		// Who goes first alternates too.
		if i%2 == 0 {
			inPool += once(pool)
			inPlain += once(plain)
		} else {
			inPlain += once(plain)
			inPool += once(pool)
		}
	}
	b.ReportMetric(float64(inPool)/float64(inPlain), "pool/plain")
	b.ReportMetric(float64(inPool-inPlain)/float64(b.N), "added-ns/op")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOwnCost is the pool above a base that does nothing: what the limits and the count cost.
func BenchmarkOwnCost(b *testing.B) {
	m := newMeter(b)
	resp := &http.Response{Body: http.NoBody}
	base := respond(func(*http.Request) (*http.Response, error) { return resp, nil })
	req := get(b, "http://127.0.0.1:8080/v1")
	req = req.WithContext(WithDestination(req.Context(), "policy_model"))
	for name, rt := range map[string]http.RoundTripper{"base": base, "pool": mustNew(b, base, m.metrics(b))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rt.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func mustNew(t testing.TB, base http.RoundTripper, m *Metrics) *Transport {
	p, err := New(base, Limits{Total: DefaultLimit, PerHost: DefaultLimitPerHost}, m)
	require.NoError(t, err)
	return p
}

func TestFastPathAllocations(t *testing.T) {
	m := newMeter(t)
	req := get(t, "http://127.0.0.1:8080/v1")
	req = req.WithContext(WithDestination(req.Context(), "policy_model"))
	resp := &http.Response{}
	body := io.NopCloser(nil)
	p := mustNew(t, respond(func(*http.Request) (*http.Response, error) { resp.Body = body; return resp, nil }), m.metrics(t))
	allocs := testing.AllocsPerRun(200, func() {
		r, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
	})
	// One for the body that gives the slot back.
	if allocs > 1 {
		t.Errorf("a request that does not queue costs %v allocations, want at most 1", allocs)
	}
}
