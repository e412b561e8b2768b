//go:build !race

package gym

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/nemo-lens/lens"
)

// The race detector allocates on its own, so this file is left out with it.

type silent struct{ http.ResponseWriter }

// With the groups off a wrapper allocates nothing and starts nothing.
func TestOffAllocatesNothing(t *testing.T) {
	clearEnv(t)
	lens.SetEnabledSpanGroups()
	goroutines := runtime.NumGoroutine()
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest("POST", "/v1/responses", nil)
	var w http.ResponseWriter = silent{}
	ctx := context.Background()
	verify := TracedVerifyFunc(func(_ context.Context, n int) (int, error) { return n, nil })
	box := NewSandboxTracker("p")
	transport := Transport(offTransport{})
	create := func(context.Context) (string, error) { return "", nil }
	run := func(context.Context) (SandboxResult, error) { return SandboxResult{}, nil }
	release := func(context.Context) error { return nil }
	line, supervisor := NewServerTimeline("s", "", false), NewSupervisorTimeline()
	for name, h := range map[string]http.Handler{
		"middleware": Middleware(nothing), "rollout": TracedRollout(nothing), "verify": TracedVerify(nothing),
		"agent": TracedAgent(nothing), "model": TracedModelCall(SpanModelResponses, nothing), "path": RolloutPath(nothing), "body": RolloutBody(nothing),
	} {
		assert.Zero(t, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }), name)
	}
	for name, f := range map[string]func(){
		"transport": func() { _, _ = transport.RoundTrip(r) },
		"func":      func() { _, _ = verify(ctx, 21) },
		"start":     func() { _ = box.Start(ctx, create) },
		"exec":      func() { _, _ = box.Exec(ctx, run) },
		"stop":      func() { _ = box.Stop(ctx, release) },
		"retry":     func() { box.CreateRetried(ctx) },
		"servers":   func() { RecordActiveServers(3) },
		"job":       func() { _, _ = JobSpan(ctx) },
		"headers":   func() { InjectHeaders(ctx, r.Header) },
		"mark":      func() { line.Mark("x"); line.Report() },
		"trace":     func() { supervisor.BeginTrace(); supervisor.ServerReady("s"); supervisor.Finish() },
		"id":        func() { _ = RolloutID(ctx) },
		"gate":      func() { _ = IsMetricsExporterActive() },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, f), name)
	}
	noMoreGoroutines(t, goroutines)
}

type offTransport struct{}

func (offTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, nil }
