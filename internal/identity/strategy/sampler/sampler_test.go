package sampler_test

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/identity/strategy/sampler"
)

type vectors struct {
	Description struct {
		Cases []struct {
			Rank        int
			Rate        float64
			Description string
		}
	} `json:"sampler_description_v020"`
	RankSampling struct {
		Rows []struct {
			Rank   int
			Export map[string]bool
		}
	} `json:"rank_sampling_v020"`
}

func load(t testing.TB) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDescription(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).Description.Cases {
		got := sampler.NewSampler(c.Rank, c.Rate, nil).Description()
		if !strings.HasPrefix(got, c.Description) {
			t.Errorf("got %q, want it to start with %q", got, c.Description)
		}
	}
	got := sampler.NewSampler(0, 1, sdktrace.TraceIDRatioBased(0.25)).Description()
	if want := "RankAwareSampler(rank=0, rate=1.0){TraceIDRatioBased{0.25}}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDecisionMatchesReference(t *testing.T) {
	t.Parallel()
	rows := load(t).RankSampling.Rows
	if len(rows) == 0 {
		t.Fatal("no vectors")
	}
	for _, row := range rows {
		for text, keep := range row.Export {
			rate, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			want := sdktrace.Drop
			if keep {
				want = sdktrace.RecordAndSample
			}
			got := sampler.NewSampler(row.Rank, rate, nil).ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background()})
			if got.Decision != want {
				t.Errorf("rank %d, rate %s: decision %v, want %v", row.Rank, text, got.Decision, want)
			}
		}
	}
}

// withParent is a context whose current span is a remote parent with a trace
// state.
func withParent(t *testing.T, sampled bool) context.Context {
	t.Helper()
	state, err := trace.ParseTraceState("vendor=value")
	if err != nil {
		t.Fatal(err)
	}
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), TraceState: state,
	}))
}

func TestCompositionThroughTheSDK(t *testing.T) {
	t.Parallel()
	always, never, parent := sdktrace.AlwaysSample(), sdktrace.NeverSample(), sdktrace.ParentBased(sdktrace.AlwaysSample())
	for _, c := range []struct {
		name   string
		rate   float64
		inner  sdktrace.Sampler
		parent bool // whether the remote parent was sampled
		want   bool
	}{
		{"kept rank, inner keeps", 1, always, false, true},
		{"kept rank, inner drops", 1, never, true, false},
		{"kept rank follows a sampled parent", 1, parent, true, true},
		{"kept rank follows an unsampled parent", 1, parent, false, false},
		{"kept rank, default sampler", 1, nil, false, false},
		{"dropped rank, inner keeps", 0, always, true, false},
		{"dropped rank ignores a sampled parent", 0, parent, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			exp := tracetest.NewInMemoryExporter()
			tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp), sdktrace.WithSampler(sampler.NewSampler(0, c.rate, c.inner)))
			defer func() { _ = tp.Shutdown(context.Background()) }()
			_, span := tp.Tracer("test").Start(withParent(t, c.parent), "s")
			sc := span.SpanContext()
			recording := span.IsRecording()
			span.End()
			if recording != c.want || sc.IsSampled() != c.want || len(exp.GetSpans()) != map[bool]int{true: 1}[c.want] {
				t.Errorf("recording %t, sampled %t, exported %d, want %t", recording, sc.IsSampled(), len(exp.GetSpans()), c.want)
			}
			if sc.TraceState().Get("vendor") != "value" {
				t.Errorf("trace state %q lost", sc.TraceState())
			}
			if !sc.IsValid() || sc.TraceID() != (trace.TraceID{1}) {
				t.Errorf("span context %v does not continue the parent's trace", sc)
			}
		})
	}
}

// start is the cost of one unsampled span in allocations.
func start(s sdktrace.Sampler) float64 {
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(s))
	tracer := tp.Tracer("test")
	ctx := context.Background()
	return testing.AllocsPerRun(200, func() {
		_, span := tracer.Start(ctx, "s")
		span.End()
	})
}

func TestDroppedRankCostsNoMoreThanNeverSample(t *testing.T) {
	if got, limit := start(sampler.NewSampler(0, 0, nil)), start(sdktrace.NeverSample()); got > limit {
		t.Errorf("%v allocations, never-sample makes %v", got, limit)
	}
}

func BenchmarkDroppedSpan(b *testing.B) {
	for name, s := range map[string]sdktrace.Sampler{
		"rank":  sampler.NewSampler(0, 0, nil),
		"never": sdktrace.NeverSample(),
	} {
		b.Run(name, func(b *testing.B) {
			tracer := sdktrace.NewTracerProvider(sdktrace.WithSampler(s)).Tracer("test")
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				_, span := tracer.Start(ctx, "s")
				span.End()
			}
		})
	}
}
