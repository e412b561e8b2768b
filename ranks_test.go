//go:build !lens_noop

package lens

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/strategy"
)

func jobConfig(strategyName string, rate float64) Config {
	cfg := DefaultConfig()
	cfg.Enabled, cfg.ExportStrategy, cfg.ExportSampleRate, cfg.RunID = true, strategyName, rate, "run"
	cfg.ShutdownTimeout = 30 * time.Second
	return cfg
}

// setUpRank sets up one rank whose spans stay in memory, and shuts it down.
func setUpRank(t *testing.T, cfg Config, rank, world int, opts ...Option) (exported tracetest.SpanStubs, log string) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	var text bytes.Buffer
	opts = append(opts, WithRank(rank, world), WithSpanExporter(keep{spans}), WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	h, err := SetupTelemetry(context.Background(), cfg, opts...)
	require.NoError(t, err)
	_, span := ManagedSpan(context.Background(), Job, "job")
	End(span, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	return spans.GetSpans(), text.String()
}

// keep does not forget the spans at shutdown, as the SDK's exporter does.
type keep struct{ *tracetest.InMemoryExporter }

func (keep) Shutdown(context.Context) error { return nil }

func resourceOf(s tracetest.SpanStub) map[attribute.Key]attribute.Value {
	m := map[attribute.Key]attribute.Value{}
	for _, kv := range s.Resource.Attributes() {
		m[kv.Key] = kv.Value
	}
	return m
}

func TestRankAttributesInBothSpellings(t *testing.T) {
	for spelling, want := range map[string][]attribute.Key{
		"": {"dl.rank", "dl.world_size"}, "dl": {"dl.rank", "dl.world_size"},
		"nv.dl": {"nv.dl.rank", "nv.dl.world_size"}, "both": {"dl.rank", "dl.world_size", "nv.dl.rank", "nv.dl.world_size"},
	} {
		cfg := jobConfig("all_ranks", 1)
		cfg.RankAttributes = spelling
		exported, _ := setUpRank(t, cfg, 3, 8)
		have := resourceOf(exported[0])
		for _, key := range []attribute.Key{"dl.rank", "dl.world_size", "nv.dl.rank", "nv.dl.world_size"} {
			value, ok := have[key]
			require.Equal(t, slices.Contains(want, key), ok, "%q %s", spelling, key)
			if ok && strings.HasSuffix(string(key), "rank") {
				require.EqualValues(t, 3, value.AsInt64())
			}
		}
		require.Regexp(t, "^run-rank3-[0-9a-f]{8}$", have["service.instance.id"].AsString())
	}
	cfg := jobConfig("all_ranks", 1)
	cfg.RankAttributes = "dl.rank"
	require.ErrorContains(t, cfg.Validate(), `want "dl", "nv.dl" or "both"`)
}

func TestOneTraceIDForTheJob(t *testing.T) {
	cfg := jobConfig("all_ranks", 1)
	cfg.SingleTraceID = true
	first, _ := setUpRank(t, cfg, 0, 2)
	second, _ := setUpRank(t, cfg, 1, 2)
	require.Equal(t, identity.TraceID("run"), first[0].SpanContext.TraceID())
	require.Equal(t, first[0].SpanContext.TraceID(), second[0].SpanContext.TraceID())
	require.NotEqual(t, first[0].SpanContext.SpanID(), second[0].SpanContext.SpanID())
	require.False(t, first[0].SpanContext.TraceFlags().IsRandom())

	t.Setenv("SLURM_JOB_ID", "42")
	inSlurm, _ := setUpRank(t, cfg, 0, 2)
	require.Equal(t, identity.TraceID("nocluster_42"), inSlurm[0].SpanContext.TraceID())

	t.Setenv("SLURM_JOB_ID", "")
	cfg.RunID = ""
	random, log := setUpRank(t, cfg, 0, 2)
	require.True(t, random[0].SpanContext.TraceID().IsValid())
	require.Contains(t, log, "trace ids are random")
}

func TestAJobWithoutExportersIsWarnedAbout(t *testing.T) {
	for _, c := range []struct {
		strategy string
		rank     int // EXPORT_RANK
		rate     float64
		world    int
		warns    bool
	}{
		{strategy.Single, 8, 1, 8, true},
		{strategy.Single, 7, 1, 8, false},
		{strategy.Single, -1, 1, 8, false},
		{strategy.Sampled, -1, 0, 8, true},
		{strategy.Sampled, -1, 0.001, 8, true},
		{strategy.Sampled, -1, 0.5, 8, false},
		{"all_ranks", 99, 0, 8, false},
	} {
		cfg := jobConfig(c.strategy, c.rate)
		cfg.ExportRank = c.rank
		_, log := setUpRank(t, cfg, 0, c.world)
		require.Equal(t, c.warns, strings.Contains(log, "no rank exports"), "%+v", c)
	}
}

// TestTenThousandRanks asks every rank of a large job.
func TestTenThousandRanks(t *testing.T) {
	const world = 10_000
	for _, c := range []struct {
		strategy string
		rate     float64
		want     int // exporters
		within   int
	}{
		{"single_rank", 1, 1, 0},
		{"all_ranks", 1, world, 0},
		{"sampled", 0, 0, 0},
		{"sampled", 1, world, 0},
		// Four standard deviations of a binomial distribution; the hash is
		// fixed, so the numbers do not vary.
		{"sampled", 0.5, 5000, 200},
		{"sampled", 0.1, 1000, 120},
		{"sampled", 0.01, 100, 40},
		{"first_rank_per_node", 1, world / 8, 0},
	} {
		cfg := jobConfig(c.strategy, c.rate)
		l, err := EstimateLoad(cfg, Workload{WorldSize: world, SpansPerStep: 4, StepTime: 500 * time.Millisecond})
		require.NoError(t, err)
		require.InDelta(t, c.want, l.Exporters, float64(c.within), "%s %g", c.strategy, c.rate)
		require.InDelta(t, float64(l.Exporters)*8, l.SpansPerSecond, 1e-6, c.strategy)
		if c.strategy != strategyPerNode {
			asked := 0
			for rank := range world {
				r := resolution{cfg: cfg, options: options{worldSize: world}}
				yes, err := r.exportsAt(rank)
				require.NoError(t, err)
				if yes {
					asked++
				}
			}
			require.Equal(t, asked, l.Exporters, c.strategy)
		}
	}
	// The rank sampler under all_ranks keeps as many as sampled chooses.
	cfg := jobConfig("all_ranks", 0.1)
	cfg.SamplerEnabled = true
	l, err := EstimateLoad(cfg, Workload{WorldSize: world, SpansPerStep: 1, StepTime: time.Second})
	require.NoError(t, err)
	require.Equal(t, world, l.Exporters)
	kept := 0
	for rank := range world {
		if strategy.Keep(rank, 0.1) {
			kept++
		}
	}
	require.InDelta(t, kept, l.SpansPerSecond, 1e-6)
	require.Contains(t, l.String(), "10000 exporting processes")
	for _, w := range []Workload{{}, {WorldSize: 1}, {WorldSize: 1, StepTime: time.Second, SpansPerStep: -1}} {
		_, err := EstimateLoad(cfg, w)
		require.Error(t, err)
	}
}

func TestARunHasOneIDInItsChildren(t *testing.T) {
	cfg := jobConfig("all_ranks", 1)
	cfg.RunID, cfg.Exporter = "", exporterNone
	t.Setenv("SLURM_JOB_ID", "")
	h, err := SetupTelemetry(context.Background(), cfg, discard())
	require.NoError(t, err)
	require.Equal(t, h, Current())
	ctx, span := ManagedSpan(context.Background(), Job, "job")
	env := h.ChildEnv(ctx, []string{"OTEL_RESOURCE_ATTRIBUTES=team=a", "PATH=/bin"})
	End(span, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	require.Nil(t, Current())
	joined := strings.Join(env, " ")
	require.Contains(t, joined, "PATH=/bin")
	require.Contains(t, joined, "team=a")
	require.Contains(t, joined, "TRACEPARENT=00-"+span.SpanContext().TraceID().String())
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); name == "OTEL_RESOURCE_ATTRIBUTES" {
			t.Setenv(name, value)
		}
	}
	child, err := SetupTelemetry(context.Background(), cfg, discard())
	require.NoError(t, err)
	require.Equal(t, h.RunID(), child.RunID())
	require.NoError(t, child.Shutdown(context.Background()))
	require.Equal(t, []string{"A=1"}, (*TelemetryHandle)(nil).ChildEnv(context.Background(), []string{"A=1"}))
}

func TestDetectionIsChosen(t *testing.T) {
	exported, _ := setUpRank(t, jobConfig("all_ranks", 1), 0, 1, WithDetection(Detection{ProcessStart: true}))
	require.Contains(t, resourceOf(exported[0]), attribute.Key("host.name"))
	_, known := resourceOf(exported[0])["process.creation.time"]
	_, err := ProcessStartTime()
	require.Equal(t, err == nil, known)
}

func TestDeclaredVariablesAreNotMisspelt(t *testing.T) {
	environ := []string{"LENS_TEST_MINE=1", "LENS_TEST_SPAN_GRUPS=x"}
	cfg, err := fromEnviron(environ, "LENS_TEST", "", nil)
	require.NoError(t, err)
	require.Len(t, cfg.warnings, 2)
	DeclareVariables("LENS_TEST_MINE")
	cfg, err = fromEnviron(environ, "LENS_TEST", "", nil)
	require.NoError(t, err)
	require.Len(t, cfg.warnings, 1)
	require.Contains(t, cfg.warnings[0], `did you mean "LENS_TEST_SPAN_GROUPS"`)
}

// BenchmarkSetupNonExporting is one set-up and shutdown of a rank that does not
// export: at most 50 µs, and no goroutine.
func BenchmarkSetupNonExporting(b *testing.B) {
	cfg := jobConfig("single_rank", 1)
	quiet := discard()
	b.ReportAllocs()
	for b.Loop() {
		h, err := SetupTelemetry(context.Background(), cfg, quiet, WithRank(0, 10_000))
		if err != nil || h.IsExporting() {
			b.Fatal(fmt.Sprint("not what is measured: ", err))
		}
		_ = h.Shutdown(context.Background())
	}
}
