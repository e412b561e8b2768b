package gym_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/nemo-lens/lens/gym"
)

// The supervisor reads the block and hands it to the servers it starts.
func ExampleTelemetryEnv() {
	cfg, err := gym.TelemetryConfigFromGlobalConfig(map[string]any{
		"telemetry": map[string]any{"enabled": true, "exporter": "console", "run_id": "nightly-7"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	env, runID := gym.TelemetryEnv(&cfg, []string{"PATH=/bin", "NEMO_LENS_SPAN_GROUPS=per_rollout"})
	fmt.Println(runID)
	for _, entry := range env {
		for _, name := range []string{"PATH", "NEMO_GYM_OTEL_ENABLED", "NEMO_GYM_OTEL_EXPORTER", "NEMO_GYM_OTEL_SPAN_GROUPS"} {
			if strings.HasPrefix(entry, name+"=") {
				fmt.Println(entry)
			}
		}
	}
	// The groups are not written: that would hide what the user has set.
	// Output:
	// nightly-7
	// PATH=/bin
	// NEMO_GYM_OTEL_ENABLED=1
	// NEMO_GYM_OTEL_EXPORTER=console
}

func ExampleResolveSpanGroups() {
	set, err := gym.ResolveSpanGroups("default, sandbox")
	fmt.Println(set, err)
	set, err = gym.SpanGroups.Resolve("rollouts")
	fmt.Println(set.Len(), err)
	// Output:
	// http_client,job,rollout,sandbox,server,startup <nil>
	// 0 lens: unknown span group "rollouts" (did you mean "rollout"?) in the spec "rollouts"; valid are agent, all, default, http_client, job, model_call, per_rollout, rollout, sandbox, server, startup, verify
}

// A rollout is known by the path of a request, and handed on the same way.
func ExampleRolloutPath() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("serving", r.URL.Path, "for", gym.RolloutID(r.Context()))
		fmt.Println("next", gym.RolloutPathPrefix(r.Context())+"/verify")
	})
	h := gym.Middleware(gym.RolloutPath(mux))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/ng-rollout/7-2-a1/v1/responses", nil))
	// Output:
	// serving /v1/responses for 7-2-a1
	// next /ng-rollout/7-2-a1/verify
}

func ExampleRolloutIDFromBody() {
	fmt.Println(gym.RolloutIDFromBody([]byte(`{"_ng_task_index": 7, "_ng_rollout_index": 2, "_ng_attempt_index": 1}`)))
	fmt.Println(gym.RolloutIDFromBody([]byte(`{"_ng_rollout_id": "not valid"}`)))
	// Output:
	// 7-2-a1 <nil>
	//  gym: _ng_rollout_id="not valid": want a letter or digit, then letters, digits, '.', '-' and '_', at most 256 bytes
}

func ExampleNewSandboxTracker() {
	ctx := context.Background()
	box := gym.NewSandboxTracker("docker")
	err := box.Start(ctx, func(context.Context) (string, error) { return "box-1", nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = box.Stop(ctx, func(context.Context) error { return nil }) }()
	res, err := box.Exec(ctx, func(context.Context) (gym.SandboxResult, error) {
		return gym.SandboxResult{ReturnCode: 3}, nil // what became of the command
	})
	fmt.Println(box.ID(), res.ReturnCode, err)
	// Output: box-1 3 <nil>
}

func ExampleServerTypeOf() {
	fmt.Println(gym.ServerTypeOf(solver{}))
	// Output: responses_api_models
}

// modelServer is embedded by every model server of the program.
type modelServer struct{}

func (modelServer) GymServerType() string { return gym.ServerTypeModel }

type solver struct{ modelServer }
