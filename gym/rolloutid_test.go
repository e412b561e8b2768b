package gym

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRolloutIDIsRejectedNotRepaired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, id := range []string{"7-2-a1", "0", "a.b_c-d", "Z9", strings.Repeat("x", maxRolloutID)} {
		assert.Equal(t, id, RolloutID(WithRolloutID(ctx, id)))
	}
	outer := WithRolloutID(ctx, "outer")
	for _, id := range []string{"", "-1", ".a", "_a", "a b", "a/b", "é", "a\n", " a", "a%41", strings.Repeat("x", maxRolloutID+1)} {
		assert.Equal(t, ctx, WithRolloutID(ctx, id), "%q", id)
		assert.Equal(t, "outer", RolloutID(WithRolloutID(outer, id)), "%q", id)
	}
	var none context.Context
	assert.Empty(t, RolloutID(none))
	assert.Equal(t, "/ng-rollout/outer", RolloutPathPrefix(outer))
	assert.Empty(t, RolloutPathPrefix(ctx))
}

func TestRolloutIDFromBody(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"_ng_rollout_id": "mine", "_ng_task_index": 1, "_ng_rollout_index": 2}`: "mine",
		`{"_ng_task_index": 7, "_ng_rollout_index": 2}`:                           "7-2",
		`{"_ng_task_index": 7, "_ng_rollout_index": 2, "_ng_attempt_index": 0}`:   "7-2",
		`{"_ng_task_index": 7, "_ng_rollout_index": 2, "_ng_attempt_index": 1}`:   "7-2-a1",
		`{"_ng_rollout_id": "mine", "_ng_attempt_index": 3}`:                      "mine",
		`{"_ng_rollout_id": null, "_ng_task_index": 0, "_ng_rollout_index": 0}`:   "0-0",
		`{"_ng_task_index": 7}`:                            "",
		`{"_ng_rollout_index": 7, "_ng_attempt_index": 1}`: "",
		`{}`: "",
		`{"x": {"_ng_rollout_id": "nested"}, "y": ["_ng_rollout_id"]}`:                "",
		`{"_ng_task_index": null, "_ng_rollout_index": 2}`:                            "",
		`{"_ng_task_index": 1, "_ng_rollout_index": 2, "_ng_attempt_index": null}  x`: "1-2",
	} {
		got, err := RolloutIDFromBody([]byte(body))
		require.NoError(t, err, body)
		assert.Equal(t, want, got, body)
	}
	for _, body := range []string{
		"", "[]", "7", "{", `{"a" 1}`, `{"_ng_rollout_id": "bad id"}`, `{"_ng_rollout_id": 7}`, `{"_ng_rollout_id": ""}`,
		`{"_ng_task_index": -1, "_ng_rollout_index": 2}`, `{"_ng_task_index": 1.5, "_ng_rollout_index": 2}`,
		`{"_ng_task_index": "1", "_ng_rollout_index": 2}`, `{"_ng_task_index": true, "_ng_rollout_index": 2}`,
		`{"_ng_task_index": 1, "_ng_rollout_index": 2, "_ng_attempt_index": 1e3}`,
	} {
		got, err := RolloutIDFromBody([]byte(body))
		require.Error(t, err, body)
		assert.Empty(t, got)
	}
}

func TestRolloutPath(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/{name...}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, RolloutID(r.Context())+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery)
	})
	mux.HandleFunc("/", http.NotFound)
	h := RolloutPath(mux)
	for target, want := range map[string]string{
		"/v1/responses":                     " /v1/responses?",
		"/ng-rollout/7-2-a1/v1/responses?x": "7-2-a1 /v1/responses?x",
		"/ng-rollout/7-2/v1/a%2Fb":          "7-2 /v1/a%2Fb?",
	} {
		r := httptest.NewRequest("GET", target, nil)
		path, ctx := r.URL.Path, r.Context()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, want, w.Body.String(), target)
		assert.Equal(t, "/v1/{name...}", r.Pattern, "the pattern is visible further out")
		assert.Equal(t, path, r.URL.Path, "the request is not changed")
		assert.Equal(t, ctx, r.Context())
	}
	for _, target := range []string{"/ng-rollout/", "/ng-rollout/7-2", "/ng-rollout/-bad/v1/x", "/ng-rollout/a%20b/v1/x",
		"/ng-rollout/%41/v1/a%2Fb", "/ng-rollouts/7/v1/x"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		assert.Equal(t, http.StatusNotFound, w.Code, target)
	}
}

func TestRolloutBodyLeavesTheBodyAlone(t *testing.T) {
	t.Parallel()
	big := `{"_ng_rollout_id": "big", "x": "` + strings.Repeat("y", maxRolloutBody) + `"}`
	for _, tc := range []struct{ body, want string }{
		{`{"_ng_rollout_id": "mine"}`, "mine"}, {`{}`, ""}, {`not json`, ""}, {``, ""}, {big, ""},
		{`{"_ng_rollout_id": "bad id"}`, ""},
	} {
		var got, id string
		h := RolloutBody(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.NoError(t, r.Body.Close())
			got, id = string(data), RolloutID(r.Context())
		}))
		for _, chunked := range []bool{false, true} {
			r := httptest.NewRequest("POST", "/run", strings.NewReader(tc.body))
			body := &countedCloser{Reader: iotest.OneByteReader(strings.NewReader(tc.body))}
			if len(tc.body) > 100 {
				body.Reader = strings.NewReader(tc.body)
			}
			r.Body = body
			if chunked {
				r.ContentLength = -1
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			assert.Equal(t, tc.body, got)
			assert.Equal(t, tc.want, id)
			assert.Equal(t, 1, body.closed)
		}
	}
	// An id that is there already wins.
	r := httptest.NewRequest("POST", "/run", strings.NewReader(`{"_ng_rollout_id": "mine"}`))
	RolloutBody(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "outer", RolloutID(r.Context()))
	})).ServeHTTP(httptest.NewRecorder(), r.WithContext(WithRolloutID(r.Context(), "outer")))
	// The error of a broken body comes where it came.
	broken := errors.New("broken")
	r = httptest.NewRequest("POST", "/run", io.MultiReader(strings.NewReader(`{"_ng`), iotest.ErrReader(broken)))
	RolloutBody(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		assert.Equal(t, `{"_ng`, string(data))
		assert.ErrorIs(t, err, broken)
	})).ServeHTTP(httptest.NewRecorder(), r)
}

type countedCloser struct {
	io.Reader
	closed int
}

func (c *countedCloser) Close() error { c.closed++; return nil }

func FuzzSplitRolloutPath(f *testing.F) {
	for _, p := range []string{"/ng-rollout/7-2-a1/v1/responses", "/ng-rollout//x", "/ng-rollout/a b/x", "/ng-rollout/a", "/v1", "/ng-rollout/a//"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		id, rest, ok := SplitRolloutPath(path)
		if !ok {
			require.Empty(t, id)
			require.Equal(t, path, rest)
			return
		}
		require.True(t, ValidRolloutID(id))
		require.True(t, strings.HasPrefix(rest, "/"))
		require.Equal(t, path, RolloutPathPrefix(WithRolloutID(context.Background(), id))+rest)
	})
}

func FuzzRolloutIDFromBody(f *testing.F) {
	f.Add([]byte(`{"_ng_task_index": 7, "_ng_rollout_index": 2, "_ng_attempt_index": 1}`))
	f.Add([]byte(`{"_ng_rollout_id": "a b"}`))
	f.Add([]byte(`{"_ng_rollout_id": `))
	f.Fuzz(func(t *testing.T, body []byte) {
		id, err := RolloutIDFromBody(body)
		require.True(t, id == "" || err == nil && ValidRolloutID(id))
	})
}
