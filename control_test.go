//go:build !lens_noop

package lens

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens/internal/ossignal"
)

func controlled(t *testing.T, groups GroupResolver, spec string) *TelemetryHandle {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Enabled, cfg.MetricsEnabled, cfg.Groups, cfg.SpanGroups, cfg.RunID = true, false, groups, spec, "run-1"
	h, err := SetupTelemetry(t.Context(), cfg, WithSpanExporter(tracetest.NewInMemoryExporter()), WithRank(7, 8), discard())
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	return h
}

func talk(t *testing.T, method, body string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, "/debug/lens", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	ControlHandler().ServeHTTP(w, r)
	var v map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v), w.Body.String())
	return w.Code, v
}

func TestControlHandlerShowsTheProcess(t *testing.T) {
	controlled(t, nil, "default")
	ctx, job := ManagedSpan(context.Background(), Job, "train.job", attribute.Int("dl.world_size", 8))
	// Past lens's own filter.
	job.SetAttributes(attribute.String("prompt", "secret words"), attribute.String("long", strings.Repeat("é", 1000)))
	_, eval := ManagedSpan(ctx, Evaluate, "train.evaluate")
	code, v := talk(t, http.MethodGet, "")
	require.Equal(t, http.StatusOK, code)
	assert.Equal(t, "run-1", v["run_id"])
	assert.EqualValues(t, 7, v["rank"])
	assert.EqualValues(t, 8, v["world_size"])
	assert.Equal(t, "default", v["spec"])
	assert.Equal(t, []any{"checkpoint", "evaluate", "job"}, v["enabled"])
	assert.Len(t, v["groups"], 8)
	assert.Equal(t, map[string]any{"name": "checkpoint", "enabled": true, "presets": []any{"default", "per_step"}}, v["groups"].([]any)[0])
	assert.Len(t, v["presets"], 3)
	assert.EqualValues(t, 2, v["stats"].(map[string]any)["Open"])
	open := v["open_spans"].([]any)
	require.Len(t, open, 2)
	first := open[0].(map[string]any)
	assert.Equal(t, "train.job", first["name"])
	assert.Equal(t, "job", first["group"])
	assert.Equal(t, "[REDACTED]", first["attributes"].(map[string]any)["prompt"])
	assert.Equal(t, strings.Repeat("é", 200)+"…", first["attributes"].(map[string]any)["long"])
	assert.EqualValues(t, 8, first["attributes"].(map[string]any)["dl.world_size"])
	assert.Equal(t, first["span_id"], open[1].(map[string]any)["parent_span_id"])
	eval.End()
	job.End()
}

func TestControlHandlerChangesTheGroups(t *testing.T) {
	controlled(t, nil, "default")
	code, v := talk(t, http.MethodPut, `{"groups": {"step": true}}`)
	require.Equal(t, http.StatusOK, code)
	assert.Nil(t, v["spec"])
	assert.True(t, IsSpanGroupEnabled(Step))
	assert.True(t, IsSpanGroupEnabled(Job))
	code, v = talk(t, http.MethodPut, `{"spec": "per_stpe"}`)
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, v["error"], `did you mean "per_step"?`)
	assert.Contains(t, v["valid_presets"], "per_step")
	assert.True(t, IsSpanGroupEnabled(Step))
	code, _ = talk(t, http.MethodPut, `{"spec": "optimizer"}`)
	require.Equal(t, http.StatusOK, code)
	assert.Equal(t, "optimizer", EnabledSpanGroups().String())
}

// In a registry an unknown entry may be somebody's later; of an operator it is a slip.
func TestControlWithARegistry(t *testing.T) {
	var registry GroupRegistry
	require.NoError(t, registry.Register(MustGroupClass("mine", []SpanGroup{"fetch"}, nil)))
	controlled(t, &registry, "fetch,later")
	_, v := talk(t, http.MethodGet, "")
	assert.Equal(t, []any{"later"}, v["pending"])
	code, v := talk(t, http.MethodPut, `{"spec": "fecth"}`)
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, v["error"], `did you mean "fetch"?`)
	assert.Equal(t, []string{"later"}, PendingSpanGroups())

	revert, err := EscalateSpanGroups("all", time.Hour)
	require.NoError(t, err)
	// Whoever registers meanwhile does not end it.
	require.NoError(t, registry.Register(MustGroupClass("more", []SpanGroup{"later"}, nil)))
	_, v = talk(t, http.MethodGet, "")
	assert.Equal(t, "the spec fetch,later", v["temporary"].(map[string]any)["reverts_to"])
	revert()
	assert.Equal(t, "fetch,later", EnabledSpanGroups().String())
	assert.Empty(t, PendingSpanGroups())
}

func TestEscalateSpanGroups(t *testing.T) {
	h := controlled(t, nil, "default")
	synctest.Test(t, func(t *testing.T) {
		_, err := EscalateSpanGroups("all", time.Minute)
		require.NoError(t, err)
		assert.True(t, IsSpanGroupEnabled(Step))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.False(t, IsSpanGroupEnabled(Step))
		assert.True(t, IsSpanGroupEnabled(Job))

		for _, d := range []time.Duration{0, -1, 365 * 24 * time.Hour} {
			_, err = EscalateSpanGroups("all", d)
			assert.ErrorContains(t, err, `lens: escalate to "all": `+d.String()+" is no time for a change that reverts: want more than 0 and at most 24h0m0s")
		}
		_, err = EscalateSpanGroups("per_stpe", time.Minute)
		var unknown *UnknownGroupError
		require.ErrorAs(t, err, &unknown)
		assert.False(t, IsSpanGroupEnabled(Step))

		// A shutdown takes the groups away, and nothing brings them back.
		_, err = EscalateSpanGroups("all", time.Minute)
		require.NoError(t, err)
		h.detach()
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.False(t, IsSpanGroupEnabled(Job))
	})
}

func TestEscalateOnSignal(t *testing.T) {
	controlled(t, nil, "default")
	_, err := EscalateOnSignal("all", time.Minute)
	assert.ErrorContains(t, err, "no signal is named")
	_, err = EscalateOnSignal("all", 0, os.Interrupt)
	assert.ErrorContains(t, err, "want more than 0")
	_, err = EscalateOnSignal("alll", time.Minute, os.Interrupt)
	assert.ErrorContains(t, err, "alll")
	if len(ossignal.Stop) < 2 {
		t.Skip("a process cannot send itself a signal here")
	}
	stop, err := EscalateOnSignal("all", time.Minute, ossignal.Stop[1])
	require.NoError(t, err)
	ossignal.Raise(ossignal.Stop[1])
	require.Eventually(t, func() bool { return IsSpanGroupEnabled(Step) }, 30*time.Second, time.Millisecond)
	_, v := talk(t, http.MethodGet, "")
	assert.Contains(t, v["changes"].([]any)[0].(map[string]any)["by"], "the signal")
	stop()
	stop()
}
