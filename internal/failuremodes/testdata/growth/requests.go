package growth

import (
	"net/http"

	"github.com/nemo-lens/lens"
)

// Attempts makes every request from the one before, and with it their contexts.
func Attempts(req *http.Request, n int) *http.Request {
	for range n {
		ctx, span := lens.ManagedSpan(req.Context(), lens.Step, "attempt")
		req = req.WithContext(ctx)
		lens.End(span, nil)
	}
	return req
}

// Copies makes every request from the first.
func Copies(first *http.Request, n int) (last *http.Request) {
	for range n {
		ctx, span := lens.ManagedSpan(first.Context(), lens.Step, "attempt")
		last = first.Clone(ctx)
		lens.End(span, nil)
	}
	return last
}
