//go:build lens_noop

package lenshttp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/lenshttp"
)

func TestNoopPassesThrough(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	require.Same(t, mux, lenshttp.NewHandler(mux, "server", lenshttp.WithAlwaysPropagate()))
	require.Same(t, mux, lenshttp.Middleware("server")(mux))
	require.Same(t, http.DefaultServeMux, lenshttp.NewHandler(nil, "server"))
	base := &http.Transport{}
	require.Same(t, base, lenshttp.NewTransport(base, "client"))
	require.Same(t, http.DefaultTransport, lenshttp.NewTransport(nil, "client"))

	sends := 0
	rt := lenshttp.NewTransport(roundTripFunc(func(*http.Request) (*http.Response, error) {
		sends++
		return answer(503, http.NoBody), nil
	}), "client", lenshttp.WithRetry(lenshttp.Retry{Wait: atOnce}))
	req, err := http.NewRequest(http.MethodGet, "http://h/", nil)
	require.NoError(t, err)
	_, err = rt.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, 3, sends)
}
