//go:build !lens_noop

package gym

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The processes of the propagation test are this test binary, which
// takes a role from the environment.
const (
	roleEnv  = "GYM_TEST_ROLE"
	breakEnv = "GYM_TEST_BREAK" // what the agent gets wrong: inject, extract
	tasksEnv = "GYM_TEST_TASKS"
	modelEnv = "GYM_TEST_MODEL"
	judgeEnv = "GYM_TEST_JUDGE"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "":
		goleak.VerifyTestMain(m)
	case "supervisor":
		exit(supervise())
	default:
		exit(serveRole(role))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Getenv(roleEnv), err)
		os.Exit(1)
	}
	os.Exit(0)
}

// supervise starts the three servers, runs the rollouts and stops the servers.
func supervise() error {
	line := NewSupervisorTimeline()
	cfg := DefaultTelemetryConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups = true, "console", "verify" // NEMO_LENS_SPAN_GROUPS wins
	line.Mark(StageLoadConfig)
	runID := ConfigureTelemetryEnv(&cfg)
	env, same := TelemetryEnv(&cfg, os.Environ())
	if runID != same || IsTelemetryEnvEnabled() != (runID != "") {
		return fmt.Errorf("the run ids are %q and %q", runID, same)
	}
	InitTelemetry(WithServerName(ServerTypeSupervisor), WithServerType(ServerTypeSupervisor))
	defer ShutdownTelemetry(0)
	line.Mark(StageInitTelemetry)
	line.BeginTrace()

	addresses := make(map[string]string)
	for _, role := range []string{"model", "judge", "agent"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(append(env, line.ServerEnv(role, roleType(role))...), roleEnv+"="+role,
			modelEnv+"="+addresses["model"], judgeEnv+"="+addresses["judge"])
		if role == "agent" && os.Getenv(breakEnv) == "propagator" {
			cmd.Env = append(cmd.Env, "OTEL_PROPAGATORS=baggage")
		}
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		defer func() {
			_ = stdin.Close() // asks it to stop
			_ = cmd.Wait()
		}()
		address, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			return fmt.Errorf("%s did not start: %w", role, err)
		}
		addresses[role] = "http://" + strings.TrimSpace(address)
		line.ServerReady(role)
	}
	line.Mark(StageSpawnServers)
	line.Finish()

	ctx, job := JobSpan(context.Background())
	defer job.End()
	_ = ctx // every rollout is a trace of its own
	client := &http.Client{Transport: Transport(nil), Timeout: time.Minute}
	for i := range strings.Count(os.Getenv(tasksEnv), "x") {
		var reward float64
		if err := call(context.Background(), client, addresses["agent"]+"/run", map[string]any{
			"_ng_task_index": i, "_ng_rollout_index": 0, "a": i, "b": 2,
		}, &reward); err != nil {
			return err
		}
		if reward != 1 {
			return fmt.Errorf("task %d: reward %v", i, reward)
		}
	}
	client.CloseIdleConnections()
	return nil
}

func roleType(role string) string {
	return map[string]string{"agent": ServerTypeAgent, "model": ServerTypeModel, "judge": ServerTypeResources}[role]
}

// serveRole is one server, until its standard input ends.
func serveRole(role string) error {
	line := NewServerTimeline(role, roleType(role), false)
	InitTelemetry(WithServerName(role), WithServerType(roleType(role)))
	defer ShutdownTelemetry(0)
	line.Mark(StageInitTelemetry)

	base := http.RoundTripper(http.DefaultTransport)
	if os.Getenv(breakEnv) == "inject" {
		base = roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Del("traceparent")
			return http.DefaultTransport.RoundTrip(r)
		})
	}
	client := &http.Client{Transport: Transport(base)}
	mux := http.NewServeMux()
	handle := func(pattern string, wrap func(http.Handler) http.Handler, f func(*http.Request, task) (any, error)) {
		mux.Handle(pattern, wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in task
			err := json.NewDecoder(r.Body).Decode(&in)
			var out any
			if err == nil {
				out, err = f(r, in)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(out)
		})))
	}
	var self string
	switch role {
	case "agent":
		handle("POST /run", TracedRollout, func(r *http.Request, in task) (any, error) {
			prefix := RolloutPathPrefix(r.Context())
			if err := call(r.Context(), client, self+prefix+"/v1/responses", in, &in.Answer); err != nil {
				return nil, err
			}
			var reward float64
			err := call(r.Context(), client, os.Getenv(judgeEnv)+prefix+"/verify", in, &reward)
			return reward, err
		})
		handle("POST /v1/responses", TracedAgent, func(r *http.Request, in task) (any, error) {
			var answer int
			err := call(r.Context(), client, os.Getenv(modelEnv)+RolloutPathPrefix(r.Context())+"/v1/responses", in, &answer)
			return answer, err
		})
	case "model":
		handle("POST /v1/responses", func(h http.Handler) http.Handler { return TracedModelCall(SpanModelResponses, h) },
			func(_ *http.Request, in task) (any, error) { return in.A + in.B, nil })
	case "judge":
		handle("POST /verify", TracedVerify, func(_ *http.Request, in task) (any, error) {
			if in.Answer == in.A+in.B {
				return 1, nil
			}
			return 0, nil
		})
	}
	h := Middleware(RolloutPath(mux))
	if os.Getenv(breakEnv) == "extract" {
		traced := h
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("traceparent")
			traced.ServeHTTP(w, r)
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	self = "http://" + l.Addr().String()
	srv := &http.Server{Handler: h}
	line.ReportWhenServing(srv, StageListen)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type task struct {
	A, B, Answer int
}

func call(ctx context.Context, client *http.Client, url string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, res.Status, data)
	}
	return json.Unmarshal(data, out)
}
