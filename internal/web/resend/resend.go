// Package resend tells the layer that makes the span of an HTTP request that a
// layer further in sends the request once more.
package resend

import (
	"context"
	"net/http"
)

type key struct{}

// Recorder records on its span that the request is sent for the n-th time after
// the first, and why: either res or err is nil.
type Recorder interface {
	Resent(ctx context.Context, n int, res *http.Response, err error)
}

// With returns a context whose requests are r's.
func With(ctx context.Context, r Recorder) context.Context {
	return context.WithValue(ctx, key{}, r)
}

// From returns the recorder of ctx, or nil.
func From(ctx context.Context) Recorder {
	r, _ := ctx.Value(key{}).(Recorder)
	return r
}

// Note tells the recorder of ctx, if there is one.
func Note(ctx context.Context, n int, res *http.Response, err error) {
	if r := From(ctx); r != nil {
		r.Resent(ctx, n, res, err)
	}
}
