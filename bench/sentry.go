//go:build !without_sentry

package main

import (
	"context"
	"time"

	"github.com/getsentry/sentry-go"
)

// sentryRow is sentry-go, sampling at the rate; 0 switches tracing off.
func sentryRow(name string, rate float64, s shape) subject {
	return subject{name: name, loop: sentryLoop(sentryHub(rate), s)}
}

// sentryLoop starts a transaction for the outermost span, as that is the unit
// that Sentry sends.
func sentryLoop(hub *sentry.Hub, s shape) func(int) {
	ctx := sentry.SetHubOnContext(context.Background(), hub)
	var nested func(ctx context.Context, depth, i int)
	nested = func(ctx context.Context, depth, i int) {
		span := sentry.StartSpan(ctx, "train.step")
		for _, kv := range attributesOf(s, i) {
			span.SetData(string(kv.Key), kv.Value.AsInterface())
		}
		defer span.Finish()
		if depth > 1 {
			nested(span.Context(), depth-1, i)
		}
	}
	return func(n int) {
		for i := range n {
			nested(ctx, s.depth, i)
		}
	}
}

type discardEvents struct{}

func (discardEvents) Flush(time.Duration) bool              { return true }
func (discardEvents) FlushWithContext(context.Context) bool { return true }
func (discardEvents) Configure(sentry.ClientOptions)        {}
func (discardEvents) SendEvent(*sentry.Event)               {}
func (discardEvents) Close()                                {}

func sentryHub(rate float64) *sentry.Hub {
	c, err := sentry.NewClient(sentry.ClientOptions{Dsn: "http://key@127.0.0.1/1", EnableTracing: rate > 0, TracesSampleRate: rate, Transport: discardEvents{}})
	must(err)
	return sentry.NewHub(c, sentry.NewScope())
}
