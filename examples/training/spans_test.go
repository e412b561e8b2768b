//go:build !lens_noop

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/semconv"
)

// parents says inside which span each span belongs when everything is recorded.
var parents = map[string]string{
	spanJob:             "",
	spanModelInit:       spanJob,
	spanLoadCheckpoint:  spanJob,
	spanStep:            spanJob,
	spanForwardBackward: spanStep,
	spanOptimizer:       spanStep,
	spanEvaluate:        spanJob,
	spanCheckpoint:      spanJob,
}

// everything is how often each span occurs in a run with the default flags: 40
// epochs of 7 steps; an evaluation and a checkpoint every 10 epochs; the last
// checkpoint read back and evaluated.
var everything = map[string]int{
	spanJob: 1, spanModelInit: 1, spanLoadCheckpoint: 1, spanStep: 280, spanForwardBackward: 280, spanOptimizer: 280,
	spanEvaluate: 5, spanCheckpoint: 4,
}

func counts(names ...string) map[string]int {
	some := map[string]int{}
	for _, name := range names {
		some[name] = everything[name]
	}
	return some
}

// groupCases are specs of NEMO_LENS_SPAN_GROUPS with the spans that each records.
var groupCases = []struct {
	spec string
	want map[string]int
}{
	{"", counts(spanJob, spanEvaluate, spanCheckpoint)},
	{"default", counts(spanJob, spanEvaluate, spanCheckpoint)},
	{"per_step", everything},
	{"all", everything},
	{"step,optimizer", counts(spanStep, spanOptimizer)},
	{"job,optimizer", counts(spanJob, spanOptimizer)},
	{" Default , LOAD_CHECKPOINT,", counts(spanJob, spanEvaluate, spanCheckpoint, spanLoadCheckpoint)},
}

func TestSpanGroupsDecideWhatIsRecorded(t *testing.T) {
	for _, test := range groupCases {
		t.Run(test.spec, func(t *testing.T) {
			setEnv(t, map[string]string{
				"NEMO_LENS_ENABLED": "1", "NEMO_LENS_SPAN_GROUPS": test.spec, "NEMO_LENS_METRICS_ENABLED": "0",
			})
			recorder := tracetest.NewSpanRecorder()
			code, stderr := execute(t, nil, lens.WithSpanExporter(tracetest.NewNoopExporter()), lens.WithSpanProcessor(recorder))
			require.Equal(t, exitOK, code, stderr)

			var spans []received
			for _, s := range recorder.Ended() {
				spans = append(spans, received{
					name: s.Name(), trace: s.SpanContext().TraceID().String(), id: s.SpanContext().SpanID().String(),
					parent: parentID(s), start: s.StartTime(), end: s.EndTime(),
				})
			}
			checkSpans(t, test.want, spans)
			checkTable(t, test.want, stderr)
		})
	}
}

func parentID(s sdktrace.ReadOnlySpan) string {
	if !s.Parent().IsValid() {
		return ""
	}
	return s.Parent().SpanID().String()
}

// received is what the checks need of a span, whichever way it came.
type received struct {
	name, trace, id, parent string
	start, end              time.Time
}

// checkSpans asserts that exactly the wanted spans are there and that each is
// inside the nearest enclosing span that is recorded, in tree and in time.
func checkSpans(t *testing.T, want map[string]int, spans []received) {
	t.Helper()
	got := map[string]int{}
	byID := map[string]received{}
	traces := map[string]bool{}
	for _, s := range spans {
		got[s.name]++
		byID[s.id] = s
		traces[s.trace] = true
	}
	require.Equal(t, want, got)
	require.Len(t, byID, len(spans), "span ids are unique")

	for _, s := range spans {
		wantParent := parents[s.name]
		for wantParent != "" && want[wantParent] == 0 {
			wantParent = parents[wantParent]
		}
		if wantParent == "" {
			require.Empty(t, s.parent, "%s is a root", s.name)
			continue
		}
		parent, ok := byID[s.parent]
		require.True(t, ok, "the parent of %s arrived", s.name)
		require.Equal(t, wantParent, parent.name, "parent of %s", s.name)
		require.Equal(t, parent.trace, s.trace, "trace of %s", s.name)
		// Durations are measured on the monotonic clock; starts are not, and may step.
		require.LessOrEqual(t, s.end.Sub(s.start), parent.end.Sub(parent.start), "duration of %s", s.name)
	}
	if want[spanJob] > 0 {
		require.Len(t, traces, 1, "one job, one trace")
	}
	// No two of these may share a parent: each step has its own.
	for _, name := range []string{spanForwardBackward, spanOptimizer} {
		if want[name] == 0 || want[spanStep] == 0 {
			continue
		}
		taken := map[string]bool{}
		for _, s := range spans {
			if s.name == name {
				require.False(t, taken[s.parent], "two %s in one step", name)
				taken[s.parent] = true
			}
		}
	}
}

func TestAttributesSayWhatHappened(t *testing.T) {
	setEnv(t, map[string]string{
		"NEMO_LENS_ENABLED": "1", "NEMO_LENS_SPAN_GROUPS": "all", "NEMO_LENS_METRICS_ENABLED": "0",
	})
	dir := t.TempDir()
	recorder := tracetest.NewSpanRecorder()
	code, stderr := execute(t, []string{"-checkpoint-dir", dir},
		lens.WithSpanExporter(tracetest.NewNoopExporter()), lens.WithSpanProcessor(recorder))
	require.Equal(t, exitOK, code, stderr)

	steps, firstLoss, lastLoss := 0, 0.0, 0.0
	var accuracy float64
	for _, s := range recorder.Ended() {
		attrs := attribute.NewSet(s.Attributes()...)
		number := func(key attribute.Key) int64 {
			v, ok := attrs.Value(key)
			require.True(t, ok, "%s has %s", s.Name(), key)
			return v.AsInt64()
		}
		switch s.Name() {
		case spanStep:
			steps++
			require.EqualValues(t, steps, number(semconv.DLIterationKey))
			require.EqualValues(t, (steps-1)/7+1, number(epochKey))
			loss, ok := attrs.Value(semconv.DLLossKey)
			require.True(t, ok)
			if steps <= 7 {
				firstLoss += loss.AsFloat64() / 7
			}
			if steps > 273 {
				lastLoss += loss.AsFloat64() / 7
			}
		case spanForwardBackward:
			// 105 samples in batches of 16: the last of an epoch has 9.
			want := 16
			if (steps+1)%7 == 0 {
				want = 9
			}
			require.EqualValues(t, want, number(semconv.DLBatchSizeKey))
		case spanModelInit:
			require.EqualValues(t, 16*5+3*17, number(paramsKey))
		case spanEvaluate:
			require.EqualValues(t, 45, number(samplesKey))
			v, ok := attrs.Value(accuracyKey)
			require.True(t, ok)
			accuracy = v.AsFloat64()
		case spanCheckpoint, spanLoadCheckpoint:
			v, ok := attrs.Value(checkpointKey)
			require.True(t, ok)
			require.FileExists(t, v.AsString())
		}
	}
	assert.Equal(t, 280, steps)
	assert.Less(t, lastLoss, firstLoss/3)
	assert.GreaterOrEqual(t, accuracy, 0.95)
}

func TestFailureIsOnTheSpans(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "step-00000007.json"), []byte("{"), 0o600))
	setEnv(t, map[string]string{
		"NEMO_LENS_ENABLED": "1", "NEMO_LENS_SPAN_GROUPS": "all", "NEMO_LENS_METRICS_ENABLED": "0",
	})
	recorder := tracetest.NewSpanRecorder()
	code, stderr := execute(t, []string{"-checkpoint-dir", dir, "-resume"},
		lens.WithSpanExporter(tracetest.NewNoopExporter()), lens.WithSpanProcessor(recorder))
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "damaged")
	checkTable(t, map[string]int{spanJob: 1, spanModelInit: 1, spanLoadCheckpoint: 1}, stderr)
	for _, s := range recorder.Ended() {
		want := codes.Error
		if s.Name() == spanModelInit {
			want = codes.Unset
		}
		assert.Equal(t, want, s.Status().Code, s.Name())
	}
}

func TestWrongEnvironmentIsExitCode2(t *testing.T) {
	for _, test := range []struct{ name, variable, value string }{
		{"boolean", "NEMO_LENS_ENABLED", "maybe"},
		{"number", "NEMO_LENS_EXPORT_RANK", "first"},
		{"rate", "NEMO_LENS_EXPORT_SAMPLE_RATE", "1.5"},
		{"group", "NEMO_LENS_SPAN_GROUPS", "per_stpe"},
		{"exporter", "NEMO_LENS_EXPORTER", "pigeon"},
		{"strategy", "NEMO_LENS_EXPORT_STRATEGY", "everyone"},
	} {
		t.Run(test.name, func(t *testing.T) {
			setEnv(t, map[string]string{"NEMO_LENS_ENABLED": "1", test.variable: test.value})
			code, stderr := execute(t, nil)
			assert.Equal(t, exitUsage, code)
			assert.Contains(t, stderr, test.value)
			assert.NotContains(t, stderr, "accuracy", "nothing was trained")
		})
	}
}

// A backend that refuses everything costs the spans, says so, and leaves the
// training run alone.
func TestLostSpansAreReportedAndTrainingGoesOn(t *testing.T) {
	setEnv(t, map[string]string{"NEMO_LENS_ENABLED": "1", "NEMO_LENS_METRICS_ENABLED": "0"})
	code, stderr := execute(t, nil, lens.WithSpanExporter(refusing{}))
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stderr, "accuracy")
	assert.Contains(t, stderr, "telemetry is incomplete")
	assert.Contains(t, stderr, "10 started, 0 exported, 10 lost (0 dropped, 10 failed)")
	checkTable(t, counts(spanJob, spanEvaluate, spanCheckpoint), stderr)
}

type refusing struct{}

func (refusing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("refused")
}
func (refusing) Shutdown(context.Context) error { return nil }
