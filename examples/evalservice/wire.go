package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/nemo-lens/lens/gym"
)

// What goes over the wire, between the supervisor, the agent (/run,
// /v1/responses), the model (/v1/responses) and the resources server (/verify).
type (
	runRequest struct {
		TaskIndex    int `json:"_ng_task_index"`
		RolloutIndex int `json:"_ng_rollout_index"`
		task
	}
	runResponse struct {
		Answer string  `json:"answer"`
		Reward float64 `json:"reward"`
		Reason string  `json:"reason,omitempty"` // of a reward of 0
	}
	modelRequest struct {
		Input string `json:"input"`
		Seed  uint64 `json:"seed"`
	}
	modelResponse struct {
		OutputText string `json:"output_text"`
	}
	verifyRequest struct {
		task
		Answer string `json:"answer"`
	}
	verifyResponse struct {
		Reward float64 `json:"reward"`
		Reason string  `json:"reason,omitempty"`
	}
)

// answerMark is what the model puts before its answer.
const answerMark = "Answer: "

// maxBody bounds what is read of a request or a response.
const maxBody = 1 << 20

// endpoint is a handler of JSON for f. Whatever f returns as an error is the
// server's own fault, and a 500.
func endpoint[In, Out any](f func(context.Context, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
			http.Error(w, "the body is not what this route takes: "+err.Error(), http.StatusUnprocessableEntity)
			return
		}
		out, err := f(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // fails when the caller has gone
	})
}

// newClient traces what it sends, and has at most so many requests under way to
// each server. There is no limit on the total: the agent calls itself, and a
// request that waits for one inside it must not take its place.
func newClient(perServer int) (*http.Client, error) {
	pool, err := gym.NewPool(nil, gym.PoolSettings{LimitPerHost: perServer})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: gym.Transport(pool), Timeout: requestTimeout}, nil
}

// requestTimeout is far more than any request here takes.
const requestTimeout = time.Minute

// peer is another server of the run.
type peer struct {
	name string
	url  string
	http *http.Client
}

// post sends in and decodes the answer. The pool counts it for the peer.
func (p peer) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx = gym.WithDestination(ctx, p.name)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return fmt.Errorf("%s: %s: %w", p.name, path, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s: %s", p.name, path, res.Status, strings.TrimSpace(string(data)))
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s: %s: %w", p.name, path, err)
	}
	return nil
}
