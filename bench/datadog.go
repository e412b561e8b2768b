//go:build !without_datadog

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/DataDog/dd-trace-go/v2/ddtrace/tracer"
)

// datadog is dd-trace-go, sampling at the rate, or not started when it is negative.
func datadog(name string, rate float64, s shape) subject {
	row := subject{name: name, loop: ddLoop(s)}
	if rate >= 0 {
		row.stop = startDatadog(rate)
	}
	return row
}

func ddLoop(s shape) func(int) {
	ctx := context.Background()
	var nested func(ctx context.Context, depth, i int)
	nested = func(ctx context.Context, depth, i int) {
		span, ctx := tracer.StartSpanFromContext(ctx, "train.step")
		for _, kv := range attributesOf(s, i) {
			span.SetTag(string(kv.Key), kv.Value.AsInterface())
		}
		defer span.Finish()
		if depth > 1 {
			nested(ctx, depth-1, i)
		}
	}
	return func(n int) {
		for i := range n {
			nested(ctx, s.depth, i)
		}
	}
}

// answers is an agent that takes everything.
type answers struct{}

func (answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

type quiet struct{}

func (quiet) Log(string) {}

func startDatadog(rate float64) (stop func()) {
	must(os.Setenv("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false"))
	must(os.Setenv("DD_REMOTE_CONFIGURATION_ENABLED", "false"))
	must(tracer.Start(tracer.WithHTTPClient(&http.Client{Transport: answers{}}), tracer.WithLogStartup(false),
		tracer.WithLogger(quiet{}), tracer.WithSamplerRate(rate), tracer.WithService("bench")))
	return tracer.Stop
}
