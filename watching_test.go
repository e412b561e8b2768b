//go:build !lens_noop

package lens

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// said is a log that can be read while it is written.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *said) option() Option { return WithLogger(slog.New(slog.NewTextHandler(s, nil))) }

func watched(t *testing.T, rank int, change func(*Config)) (*TelemetryHandle, *otlptest.Server, *said) {
	t.Helper()
	srv, log := otlptest.Start(t), &said{}
	cfg := DefaultConfig()
	cfg.Enabled, cfg.Endpoint, cfg.SpanGroups, cfg.RunID = true, srv.GRPCURL(), "per_step", "run-1"
	change(&cfg)
	h, err := SetupTelemetry(t.Context(), cfg, WithRank(rank, 8), log.option())
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
	return h, srv, log
}

func flightFile(t *testing.T, dir string) *flight.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+flight.Suffix))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	f, err := flight.Read(paths[0])
	require.NoError(t, err)
	return f
}

func canMap(t *testing.T) {
	t.Helper()
	r, err := flight.Open(flight.Options{Dir: t.TempDir()})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	r.Close()
}

// Rank 7 of 8 exports, the others record to the file alone.
func TestFlightRecorder(t *testing.T) {
	canMap(t)
	t.Setenv("TORCHELASTIC_RESTART_COUNT", "2")
	for _, rank := range []int{7, 3} {
		dir := filepath.Join(t.TempDir(), "new")
		h, srv, log := watched(t, rank, func(c *Config) { c.FlightDir = dir })
		assert.Equal(t, rank == 7, h.IsExporting())
		assert.True(t, IsSpanGroupEnabled(Step))
		ctx, step := ManagedSpan(context.Background(), Step, "train.step", attribute.Int("dl.iteration", 20))
		step.SetAttributes(attribute.String("prompt", "secret words"))
		_, forward := ManagedSpan(ctx, ForwardBackward, "train.forward")
		End(forward, nil)

		f := flightFile(t, dir)
		assert.Equal(t, []any{"run-1", rank, 8, 2}, []any{f.RunID, f.Rank, f.WorldSize, f.Restart})
		require.Len(t, f.Open, 1)
		assert.Equal(t, "train.step", f.Open[0].Name)
		assert.Equal(t, "step", f.Open[0].Group)
		assert.Equal(t, step.SpanContext().SpanID(), f.Open[0].SpanID)
		assert.Equal(t, []attribute.KeyValue{attribute.Int("dl.iteration", 20), attribute.String("prompt", "[REDACTED]")}, f.Open[0].Attributes)
		require.Len(t, f.Ended, 1)
		assert.Equal(t, "train.forward", f.Ended[0].Name)
		require.Len(t, h.OpenSpans(), 1)

		require.NoError(t, h.Shutdown(context.Background()))
		f = flightFile(t, dir)
		assert.False(t, f.Closed.IsZero())
		assert.Empty(t, f.Open, "the shutdown has ended it")
		assert.False(t, IsSpanGroupEnabled(Step))
		assert.Len(t, srv.Spans(), map[bool]int{true: 2}[rank == 7])
		assert.NotContains(t, log.String(), "level=WARN")
	}
}

// A directory that cannot be used costs the file and nothing else.
func TestFlightRecorderCannotBeUsed(t *testing.T) {
	canMap(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	h, srv, log := watched(t, 7, func(c *Config) { c.FlightDir = filepath.Join(file, "below") })
	_, span := ManagedSpan(context.Background(), Step, "train.step")
	End(span, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	assert.Len(t, srv.Spans(), 1)
	assert.Contains(t, log.String(), "flight recorder: the directory: ")
	assert.Contains(t, log.String(), "nothing is recorded there")

	// A rank that would record to the file alone is then as it is without one.
	h, _, _ = watched(t, 3, func(c *Config) { c.FlightDir = filepath.Join(file, "below") })
	assert.False(t, IsSpanGroupEnabled(Step))
	assert.Nil(t, h.recording)
}

func TestStalledSpans(t *testing.T) {
	h, srv, log := watched(t, 7, func(c *Config) {
		c.StallAfterGroups, c.StallStacks = map[SpanGroup]time.Duration{Step: 50 * time.Millisecond}, true
	})
	ctx, job := ManagedSpan(context.Background(), Job, "train.job")
	_, step := ManagedSpan(ctx, Step, "train.step", attribute.Int("dl.iteration", 20))
	step.SetAttributes(attribute.String("prompt", "secret words"))
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "has been open for") }, 30*time.Second, 5*time.Millisecond)
	line := log.String()[strings.Index(log.String(), "level=WARN"):]
	assert.Contains(t, line, `lens: the span \"train.step\" has been open for `)
	assert.Contains(t, line, `rank=7 in="train.job > train.step" group=step trace_id=`+step.SpanContext().TraceID().String())
	assert.Contains(t, line, "dl.iteration=20 prompt=[REDACTED]")
	assert.Contains(t, line, `stacks="goroutine `)
	End(step, nil)
	End(job, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	assert.Equal(t, 1, strings.Count(log.String(), "has been open for"), "the job has no time")
	for _, s := range srv.Spans() {
		if s.Name == "train.step" {
			require.Len(t, s.Events, 1)
			assert.Equal(t, "nemo.span.stalled", s.Events[0].Name)
		} else {
			assert.Empty(t, s.Events)
		}
	}
	var names []string
	for _, m := range srv.Metrics() {
		names = append(names, m.Name)
	}
	assert.Contains(t, names, "nemo.lens.spans.stalled")
}

// A long span shows before it ends, by spans that are not it.
func TestHeartbeats(t *testing.T) {
	h, srv, _ := watched(t, 7, func(c *Config) { c.HeartbeatEvery, c.BatchDelay = time.Second, 10*time.Millisecond })
	_, job := ManagedSpan(context.Background(), Job, "train.job")
	require.Eventually(t, func() bool { return len(srv.Spans()) > 0 }, 30*time.Second, 10*time.Millisecond)
	End(job, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	jobs := 0
	for _, s := range srv.Spans() {
		assert.Equal(t, job.SpanContext().TraceID(), s.TraceID)
		if s.Name == "train.job" {
			jobs++
			continue
		}
		assert.Equal(t, "nemo.span.heartbeat", s.Name)
		assert.Equal(t, job.SpanContext().SpanID(), s.ParentSpanID)
		assert.Equal(t, "train.job", s.Attributes["nemo.span.heartbeat.of"])
		assert.GreaterOrEqual(t, s.Attributes["nemo.span.heartbeat.seconds"], 1.0)
	}
	assert.Equal(t, 1, jobs)
}

func TestStallAfterVariable(t *testing.T) {
	for text, want := range map[string]struct {
		all    time.Duration
		groups map[SpanGroup]time.Duration
		err    string
	}{
		"10m":               {all: 10 * time.Minute},
		"10m,Step=30s":      {all: 10 * time.Minute, groups: map[SpanGroup]time.Duration{Step: 30 * time.Second}},
		" job = 0 , 2h ":    {all: 2 * time.Hour, groups: map[SpanGroup]time.Duration{Job: 0}},
		"soon":              {err: "want a time"},
		"step=":             {err: "want a time"},
		"1m,2m":             {err: "there are two times without a group"},
		"a-b=1m":            {err: `"a-b" is no group`},
		"9000h":             {err: "want a time up to 720h"},
		"step=1m,step=soon": {err: "want a time"},
	} {
		t.Setenv("NEMO_LENS_STALL_AFTER", text)
		cfg, err := FromEnv("", "", nil)
		if want.err != "" {
			assert.ErrorContains(t, err, want.err, text)
			assert.ErrorContains(t, err, "NEMO_LENS_STALL_AFTER", text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want.all, cfg.StallAfter, text)
		assert.Equal(t, want.groups, cfg.StallAfterGroups, text)
	}
	cfg := DefaultConfig()
	cfg.StallAfter, cfg.HeartbeatEvery = -1, time.Millisecond
	cfg.StallAfterGroups = map[SpanGroup]time.Duration{Step: -1}
	err := cfg.Validate()
	assert.ErrorContains(t, err, "stall_after is -1ns")
	assert.ErrorContains(t, err, "stall_after of the group step is -1ns")
	assert.ErrorContains(t, err, "heartbeat is 1ms: want a time from 1s to 720h")
}
