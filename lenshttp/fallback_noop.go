//go:build lens_noop

package lenshttp

import (
	"context"
	"net/http"

	"github.com/nemo-lens/lens"
)

// NewHandler returns next in this build, [http.DefaultServeMux] when it is nil.
func NewHandler(next http.Handler, _ lens.SpanGroup, _ ...Option) http.Handler {
	if next == nil {
		return http.DefaultServeMux
	}
	return next
}

// Middleware returns a function that returns its argument in this build.
func Middleware(group lens.SpanGroup, opts ...Option) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return NewHandler(next, group, opts...) }
}

// CarryRoute returns next in this build.
func CarryRoute(next http.Handler) http.Handler { return next }

// NewTransport returns base in this build, with the retries of [WithRetry].
func NewTransport(base http.RoundTripper, _ lens.SpanGroup, opts ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	if c := newConfig(opts); c.retry != nil {
		return c.retry.RoundTripper(base)
	}
	return base
}

func noteResend(context.Context, int, *http.Response, error) {}

// ControlHandler returns a handler that says that there is nothing to see or change in
// this build.
func ControlHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = w.Write([]byte(`{"error": "this program was built with the tag lens_noop: it records nothing"}` + "\n"))
	})
}
