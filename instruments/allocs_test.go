//go:build !race

package instruments_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/nemo-lens/lens/instruments"
)

// A call allocates nothing, whether anybody listens or not. The SDK allocates
// nothing for a point it knows, which the last case checks: it is what the others
// are measured against.
func TestRecordAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	s := newSDK(t)
	registry := new(instruments.Registry)
	if err := registry.Register("eval", evalSpecs...); err != nil {
		t.Fatal(err)
	}
	f, d, i := instruments.Float, instruments.Duration, instruments.Int
	for name, meter := range map[string]metric.Meter{"nil": nil, "noop": noop.Meter{}, "sdk": s.meter} {
		attrs := attribute.String("site", "a")
		training := instruments.NewTraining(meter, instruments.WithAttributes(attrs))
		rl := instruments.NewRL(meter)
		gym := instruments.NewGym(meter)
		inference := instruments.NewInference(meter)
		group := registry.Recorder(meter, "eval", attrs)
		x, key := 0.5, "latency"
		for what, call := range map[string]func(){
			"training": func() {
				training.Record(ctx, instruments.TrainingValues{StepDuration: d(ms), Loss: f(x), ThroughputTFLOPS: f(x), GradNorm: f(x),
					LearningRate: f(x), TokensPerSecond: f(x), SkippedIterations: i(1)})
			},
			"rl": func() {
				rl.Record(ctx, instruments.RLValues{RewardMean: f(x), Entropy: f(x), GenerationDuration: d(ms), RolloutDuration: d(ms)})
			},
			"gym": func() {
				gym.Record(ctx, instruments.GymValues{RolloutDuration: d(ms), VerifySuccessRate: f(x), ActiveServers: i(3)})
			},
			"inference": func() {
				inference.Record(ctx, instruments.InferenceValues{RequestDuration: d(ms), InputTokens: i(10), OutputTokens: i(20), Model: "m", ErrorType: "e"})
			},
			"nothing given": func() { training.Record(ctx, instruments.TrainingValues{}) },
			"group": func() {
				group.Record(ctx, instruments.Named("accuracy", x), instruments.Named(key, x), instruments.Named("samples", 1), instruments.Named("queued", 1))
			},
		} {
			if n := testing.AllocsPerRun(200, call); n != 0 {
				t.Errorf("%s meter, %s: %v allocations a call, want 0", name, what, n)
			}
		}
	}
	bare, err := s.meter.Float64Gauge("bare")
	if err != nil {
		t.Fatal(err)
	}
	opts := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("site", "a")))}
	if n := testing.AllocsPerRun(200, func() { bare.Record(ctx, 1, opts...) }); n != 0 {
		t.Errorf("the bare SDK gauge: %v allocations a call, want 0", n)
	}
}

// The registry's Record with no meter is the form that a library calls without
// knowing whether metrics are on.
func TestRegistryRecordWithoutAMeterAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	for _, meter := range []metric.Meter{nil, noop.Meter{}} {
		if n := testing.AllocsPerRun(200, func() {
			instruments.Record(ctx, meter, "eval", nil, instruments.Named("accuracy", 1))
		}); n != 0 {
			t.Errorf("%T: %v allocations a call, want 0", meter, n)
		}
	}
}
