//go:build !race && !lens_noop

package lenshttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

// Nothing may be allocated for a request while the group is off, whatever the
// options.
func TestAllocatesNothingWhenOff(t *testing.T) {
	lenstest.Start(t)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/x", nil)
	bare := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	answered := answer(200, http.NoBody)
	base := roundTripFunc(func(*http.Request) (*http.Response, error) { return answered, nil })
	opts := []lenshttp.Option{lenshttp.WithExcludedPaths("/healthz"), lenshttp.WithSpanName(lenshttp.MethodName)}
	h := lenshttp.NewHandler(bare, server, opts...)
	rt := lenshttp.NewTransport(base, client, opts...)
	c := lenshttp.NewClient(doer{base}, client, opts...)
	req := request(t, context.Background(), "http://h/x")
	require.Zero(t, testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }))
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = rt.RoundTrip(req) }))
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = c.Do(req) }))
}
