//go:build !race

package gym

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
)

// Without telemetry nothing that measures allocates or starts anything, with
// the groups off and with them on.
func TestMetricsOffAllocateNothing(t *testing.T) {
	clearEnv(t)
	before := lens.EnabledSpanGroups()
	defer lens.SetEnabledSpanGroups(before.Groups()...)
	goroutines := runtime.NumGoroutine()
	ctx := context.Background()
	r := httptest.NewRequest("POST", "/v1/responses", nil)
	var w http.ResponseWriter = silent{}
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	counted, retried := counting(offTransport{}), RetryTransport(offTransport{}, Retry{Attempts: 1})
	limit := NewSemaphore(1, "x")
	run := func(op *RunningOperation) error { op.SetOutcome(OutcomeOK); return nil }
	inner := &modelEndpoint{next: nothing, dialect: DialectResponses}
	err := errors.New("boom")
	for _, groups := range [][]lens.SpanGroup{nil, {ModelCall, Rollout, Concurrency}} {
		lens.SetEnabledSpanGroups(groups...)
		for name, f := range map[string]func(){
			"outcome": func() {
				RecordRolloutOutcome(ctx, RolloutResult{Outcome: RolloutFailed, Dispatch: "a", FailureKind: "b"})
			},
			"call": func() {
				c := BeginModelCall(ctx, DialectResponses)
				c.FirstToken()
				c.Tokens(TokensInput, 3)
				c.Finish("stop")
				c.SetOutcome(ModelOK)
				c.End(err)
			},
			"from":      func() { ModelCallFrom(ctx).Finish("stop") },
			"endpoint":  func() { inner.ServeHTTP(w, r) },
			"request":   func() { _, _ = counted.RoundTrip(r) },
			"retries":   func() { _, _ = retried.RoundTrip(r) },
			"operation": func() { _ = ResourcesOperation(ctx, limit, OperationVerify, ExecutorInline, run) },
			"limit":     func() { _ = limit.Acquire(ctx); limit.Release() },
			"annotate":  func() { annotate(ctx) },
			"start":     func() { _, _ = StartObserver(); _, _ = StartGPUSampler(); _, _ = StartMemoryProfiler() },
			"running":   func() { (*Running)(nil).Stop() },
		} {
			assert.Zero(t, testing.AllocsPerRun(100, f), "%s with %v", name, groups)
		}
	}
	noMoreGoroutines(t, goroutines)
	var h http.Handler = inner
	assert.Same(t, h, CountInFlight(h), "it is not even wrapped")
	_, err = StartMemoryProfiler()
	require.Error(t, err)
}
