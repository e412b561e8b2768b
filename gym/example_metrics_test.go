package gym_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/nemo-lens/lens/gym"
)

// The supervisor profiles the memory of the servers it has started, when the
// block asks for it.
func ExampleStartMemoryProfiler() {
	profiler, err := gym.StartMemoryProfiler(gym.MemoryTarget{Name: "judge", Type: gym.ServerTypeResources, PID: os.Getpid()})
	defer profiler.Stop()
	fmt.Println(err)
	// Output: gym: it is not enabled in the telemetry block
}

// Without telemetry nothing runs, and the reason is there for who wants it.
func ExampleStartObserver() {
	observer, err := gym.StartObserver()
	defer observer.Stop() // of a nil observer, too
	fmt.Println(observer == nil, errors.Is(err, gym.ErrTelemetryOff))
	// Output: true true
}

// A client of a server: one span over all attempts, which wait in the pool.
func ExampleNewPool() {
	pool, err := gym.NewPool(nil, gym.PoolSettings{Limit: 512, LimitPerHost: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{
		Transport: gym.Transport(gym.RetryTransport(pool, gym.Retry{Attempts: 5})),
		Timeout:   time.Minute,
	}
	ctx := gym.WithDestination(context.Background(), "policy_model")
	_, err = http.NewRequestWithContext(ctx, http.MethodPost, "http://policy-model:8000/v1/responses", nil) // for client.Do
	fmt.Println(pool.Limits(), client.Timeout, err)
	// Output: {512 64} 1m0s <nil>
}

// The handler of a model server tells what only it knows; the rest is measured.
func ExampleModelCallFrom() {
	h := func(w http.ResponseWriter, r *http.Request) {
		call := gym.ModelCallFrom(r.Context())
		call.Tokens(gym.TokensInput, 120) // of a nil recorder, too
		call.Tokens(gym.TokensOutput, 48)
		call.Finish("completed")
		w.WriteHeader(http.StatusOK)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/responses", gym.TracedModelCall(gym.SpanModelResponses, http.HandlerFunc(h)))
}

// A call that is no request to this process.
func ExampleBeginModelCall() {
	ask := func(context.Context) (tokens int64, err error) { return 48, nil }
	call := gym.BeginModelCall(context.Background(), gym.DialectChatCompletions)
	n, err := ask(context.Background())
	call.Tokens(gym.TokensOutput, n)
	call.End(err)
	fmt.Println(n, err)
	// Output: 48 <nil>
}

// The driver says what became of each rollout.
func ExampleRecordRolloutOutcome() {
	gym.RegisterFailureKinds("sandbox_lost")
	gym.RecordRolloutOutcome(context.Background(), gym.RolloutResult{Outcome: gym.RolloutScored, Dispatch: "swe_agent"})
	gym.RecordRolloutOutcome(context.Background(), gym.RolloutResult{
		Outcome: gym.RolloutFailed, Dispatch: "swe_agent", FailureClass: "infrastructure", FailureKind: "sandbox_lost",
	})
}

func ExampleResourcesOperation() {
	judges := gym.NewSemaphore(4, "resources.judge")
	err := gym.ResourcesOperation(context.Background(), judges, gym.OperationJudge, gym.ExecutorSubprocess, func(op *gym.RunningOperation) error {
		op.SetOutcome(gym.OutcomeTimeout) // instead of what the error says
		return errors.New("the judge did not answer")
	})
	fmt.Println(err)
	// Output: the judge did not answer
}

// The third attempt succeeds; all of them are in one span of [gym.Transport].
func ExampleRetryTransport() {
	attempts := 0
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if attempts++; attempts < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer model.Close()
	client := &http.Client{Transport: gym.Transport(gym.RetryTransport(nil, gym.Retry{
		Attempts: 5,
		Wait:     func(n int) time.Duration { return time.Duration(n) * time.Millisecond },
	}))}
	res, err := client.Get(model.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	res.Body.Close()
	fmt.Println(res.StatusCode, "after", attempts, "attempts")
	// Output: 200 after 3 attempts
}
