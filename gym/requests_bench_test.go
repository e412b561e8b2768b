//go:build !lens_noop

package gym

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nemo-lens/lens"
)

// BenchmarkRequest compares a request over a real connection through
// http.Transport with the same one through the pool and through its retries,
// while metrics are exported and nothing queues.
func BenchmarkRequest(b *testing.B) {
	captureLog(b, io.Discard)
	reset(b)
	lens.SetEnabledSpanGroups()
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	defer func() { _ = p.Shutdown(context.Background()) }()
	useMeter(p, "agent")
	server := httptest.NewServer(answer(200))
	defer server.Close()
	pool, err := NewPool(nil, DefaultPoolSettings())
	require.NoError(b, err)
	defer pool.CloseIdleConnections()
	plain := new(http.Transport)
	defer plain.CloseIdleConnections()
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
	}{{"plain", plain}, {"pool", pool}, {"retries", Transport(RetryTransport(pool, atOnce))}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			client := &http.Client{Transport: c.rt}
			for b.Loop() {
				require.NoError(b, fetch(context.Background(), client, server.URL))
			}
		})
	}
}
