package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/nemo-lens/lens/gym"
)

// routes are what the three servers do, each route in its span.
func (s *server) routes(o serverOptions) (*http.ServeMux, error) {
	mux := http.NewServeMux()
	switch s.Type {
	case gym.ServerTypeAgent:
		a := agent{self: s.peer(o.name, ""), model: s.peer(s.Model, o.peers[s.Model]), resources: s.peer(s.Resources, o.peers[s.Resources])}
		for _, p := range []peer{a.model, a.resources} {
			if p.url == "" {
				return nil, usageError{fmt.Errorf("-peer for %q is missing", p.name)}
			}
		}
		s.listening = func(url string) { a.self.url = url }
		// RolloutBody, so that the id goes on also when the group is off.
		mux.Handle("POST /run", gym.RolloutBody(gym.TracedRollout(endpoint(func(ctx context.Context, in runRequest) (runResponse, error) { return a.run(ctx, in) }))))
		mux.Handle("POST /v1/responses", gym.TracedAgent(endpoint(func(ctx context.Context, in modelRequest) (modelResponse, error) { return a.respond(ctx, in) })))
	case gym.ServerTypeModel:
		mux.Handle("POST /v1/responses", gym.TracedModelCall(gym.SpanModelResponses, endpoint(s.generate)))
	case gym.ServerTypeResources:
		mux.Handle("POST /verify", gym.TracedVerify(endpoint(s.verify)))
	default:
		return nil, fmt.Errorf("run.json: %s: type=%q: want %s, %s or %s", o.name, s.Type, gym.ServerTypeAgent, gym.ServerTypeModel, gym.ServerTypeResources)
	}
	return mux, nil
}

// agent turns a task into a question to the model, and the answer into one to
// the resources server. As in NeMo Gym it asks itself for the former.
type agent struct{ self, model, resources peer }

func (a *agent) run(ctx context.Context, in runRequest) (runResponse, error) {
	prefix := gym.RolloutPathPrefix(ctx)
	var said modelResponse
	ask := modelRequest{Input: in.prompt(), Seed: uint64(in.RolloutIndex)}
	if err := a.self.post(ctx, prefix+"/v1/responses", ask, &said); err != nil {
		return runResponse{}, err
	}
	_, answer, _ := strings.Cut(said.OutputText, answerMark)
	var verdict verifyResponse
	if err := a.resources.post(ctx, prefix+"/verify", verifyRequest{task: in.task, Answer: answer}, &verdict); err != nil {
		return runResponse{}, err
	}
	return runResponse{Answer: answer, Reward: verdict.Reward, Reason: verdict.Reason}, nil
}

func (a *agent) respond(ctx context.Context, in modelRequest) (out modelResponse, err error) {
	err = a.model.post(ctx, gym.RolloutPathPrefix(ctx)+"/v1/responses", in, &out)
	return out, err
}

// generate is the model: it reads the prompt, thinks, and writes a text.
func (s *server) generate(ctx context.Context, in modelRequest) (modelResponse, error) {
	if err := s.limit.Acquire(ctx); err != nil {
		return modelResponse{}, err
	}
	defer s.limit.Release()
	t, err := parsePrompt(in.Input)
	if err != nil {
		return modelResponse{OutputText: "I cannot: " + err.Error()}, nil
	}
	expression, value := solve(t, in.Seed)
	thought := "That is it."
	if value != t.Target {
		thought = fmt.Sprintf("I come no nearer to %d than %d.", t.Target, value)
	}
	out := modelResponse{OutputText: thought + " " + answerMark + expression}
	call := gym.ModelCallFrom(ctx) // nil when nothing is measured
	call.Tokens(gym.TokensInput, tokens(in.Input))
	call.Tokens(gym.TokensOutput, tokens(out.OutputText))
	call.Finish("stop")
	return out, nil
}

// tokens are words to this model.
func tokens(text string) int64 { return int64(len(strings.Fields(text))) }

// verify is the resources server. A wrong answer is a reward of 0, no failure.
func (s *server) verify(ctx context.Context, in verifyRequest) (out verifyResponse, err error) {
	err = gym.ResourcesOperation(ctx, s.limit, gym.OperationVerify, gym.ExecutorInline, func(*gym.RunningOperation) error {
		reason, ok := verify(in.task, in.Answer)
		if ok {
			out.Reward = 1
		}
		out.Reason = reason
		return nil
	})
	return out, err
}
