package instruments_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nemo-lens/lens/instruments"
)

//go:noinline
func emptyCall(context.Context) {}

//go:noinline
func emptyCallWith[T any](context.Context, T) {}

// compare times calls of base and of subject in turns within one run and reports
// the least time of each and their ratio, which a busy machine does not move.
func compare(b *testing.B, calls int, base, subject func(n int)) {
	b.Helper()
	least := func(best time.Duration, f func(int)) time.Duration {
		start := time.Now()
		f(calls)
		if took := time.Since(start); best == 0 || took < best {
			return took
		}
		return best
	}
	var baseBest, subjectBest time.Duration
	base(calls)
	subject(calls)
	for b.Loop() {
		baseBest = least(baseBest, base)
		subjectBest = least(subjectBest, subject)
	}
	b.ReportMetric(0, "ns/op") // a pair of blocks says nothing
	b.ReportMetric(float64(baseBest.Nanoseconds())/float64(calls), "base-ns")
	b.ReportMetric(float64(subjectBest.Nanoseconds())/float64(calls), "lens-ns")
	b.ReportMetric(float64(subjectBest)/float64(baseBest), "ratio")
}

// BenchmarkOff compares a recorder with nothing behind it to an empty function: to
// one that takes the same values, which is the call as written with an empty body
// ("with/"), and to one that takes the context alone, the cheapest call there is
// ("bare/"). What is left in the second is the price of writing the values down, so
// the struct with the most fields costs most.
func BenchmarkOff(b *testing.B) {
	ctx := context.Background()
	training := instruments.NewTraining(noop.Meter{})
	rl := instruments.NewRL(nil)
	gym := instruments.NewGym(noop.Meter{})
	inference := instruments.NewInference(noop.Meter{})
	group := new(instruments.Registry).Recorder(noop.Meter{}, "eval")
	x := 0.5
	bare := func(n int) {
		for range n {
			emptyCall(ctx)
		}
	}
	for _, c := range []struct {
		name        string
		empty, lens func(n int)
	}{
		{"training", func(n int) {
			for range n {
				emptyCallWith(ctx, instruments.TrainingValues{Loss: instruments.Float(x), StepDuration: instruments.Duration(time.Second)})
			}
		}, func(n int) {
			for range n {
				training.Record(ctx, instruments.TrainingValues{Loss: instruments.Float(x), StepDuration: instruments.Duration(time.Second)})
			}
		}},
		{"rl", func(n int) {
			for range n {
				emptyCallWith(ctx, instruments.RLValues{RewardMean: instruments.Float(x), Entropy: instruments.Float(x)})
			}
		}, func(n int) {
			for range n {
				rl.Record(ctx, instruments.RLValues{RewardMean: instruments.Float(x), Entropy: instruments.Float(x)})
			}
		}},
		{"gym", func(n int) {
			for range n {
				emptyCallWith(ctx, instruments.GymValues{RolloutDuration: instruments.Duration(time.Second)})
			}
		}, func(n int) {
			for range n {
				gym.Record(ctx, instruments.GymValues{RolloutDuration: instruments.Duration(time.Second)})
			}
		}},
		{"inference", func(n int) {
			for range n {
				emptyCallWith(ctx, instruments.InferenceValues{RequestDuration: instruments.Duration(time.Second), Model: "m"})
			}
		}, func(n int) {
			for range n {
				inference.Record(ctx, instruments.InferenceValues{RequestDuration: instruments.Duration(time.Second), Model: "m"})
			}
		}},
		{"group", func(n int) {
			for range n {
				emptyCallWith(ctx, instruments.Named("accuracy", x))
			}
		}, func(n int) {
			for range n {
				group.Record(ctx, instruments.Named("accuracy", x))
			}
		}},
	} {
		b.Run("with/"+c.name, func(b *testing.B) { compare(b, 20_000, c.empty, c.lens) })
		b.Run("bare/"+c.name, func(b *testing.B) { compare(b, 20_000, bare, c.lens) })
	}
}

// BenchmarkOn compares a recorder to the SDK's own instrument with the same
// attributes, prepared as well as they can be. The promise: ratio at most 1.3.
func BenchmarkOn(b *testing.B) {
	ctx := context.Background()
	attrs := []attribute.KeyValue{attribute.String("site", "a"), attribute.Int("rank", 3)}
	prepared := metric.WithAttributeSet(attribute.NewSet(attrs...))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	meter, bare := provider.Meter("lens"), provider.Meter("bare")
	gauge, _ := bare.Float64Gauge("gauge")
	// The same number of buckets as the recorder's, or the search would differ.
	histogram, _ := bare.Float64Histogram("duration", metric.WithExplicitBucketBoundaries(
		0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	defaults, _ := bare.Float64Histogram("milliseconds")
	genAI := metric.WithAttributeSet(attribute.NewSet(
		attribute.String("gen_ai.operation.name", "text_completion"),
		attribute.String("gen_ai.provider.name", "nemo"),
		attribute.String("gen_ai.request.model", "llama-3.1-8b")))
	gaugeOpts := []metric.RecordOption{prepared}
	genAIOpts := []metric.RecordOption{genAI}

	training := instruments.NewTraining(meter, instruments.WithAttributes(attrs...))
	rl := instruments.NewRL(meter, instruments.WithAttributes(attrs...))
	gym := instruments.NewGym(meter, instruments.WithAttributes(attrs...))
	inference := instruments.NewInference(meter)
	registry := new(instruments.Registry)
	if err := registry.Register("eval", instruments.MetricSpec{Key: "accuracy", Name: "eval.accuracy"}); err != nil {
		b.Fatal(err)
	}
	group := registry.Recorder(meter, "eval", attrs...)

	x, d := 0.5, 700*time.Millisecond
	var gauges [9]metric.Float64Gauge
	for i := range gauges {
		gauges[i], _ = bare.Float64Gauge(fmt.Sprintf("gauge.%d", i))
	}
	bareGauges := func(n int) {
		for range n {
			for _, g := range gauges {
				g.Record(ctx, x, gaugeOpts...)
			}
		}
	}
	bareGauge := func(n int) {
		for range n {
			gauge.Record(ctx, x, gaugeOpts...)
		}
	}
	bareMillis := func(n int) {
		for range n {
			defaults.Record(ctx, float64(d)/float64(time.Millisecond), gaugeOpts...)
		}
	}
	bareGenAI := func(n int) {
		for range n {
			histogram.Record(ctx, d.Seconds(), genAIOpts...)
		}
	}
	for _, c := range []struct {
		name          string
		base, subject func(n int)
	}{
		{"training/loss", bareGauge, func(n int) {
			for range n {
				training.Record(ctx, instruments.TrainingValues{Loss: instruments.Float(x)})
			}
		}},
		{"rl/reward", bareGauge, func(n int) {
			for range n {
				rl.Record(ctx, instruments.RLValues{RewardMean: instruments.Float(x)})
			}
		}},
		{"rl/nine", bareGauges, func(n int) {
			o := instruments.Float(x)
			for range n {
				rl.Record(ctx, instruments.RLValues{RewardMean: o, KLDivergence: o, PolicyLoss: o, ValueLoss: o, Entropy: o,
					ResponseLengthMean: o, GradNorm: o, LearningRate: o, ThroughputTokensPerSec: o})
			}
		}},
		{"gym/rollout", bareMillis, func(n int) {
			for range n {
				gym.Record(ctx, instruments.GymValues{RolloutDuration: instruments.Duration(d)})
			}
		}},
		{"inference/duration", bareGenAI, func(n int) {
			for range n {
				inference.Record(ctx, instruments.InferenceValues{RequestDuration: instruments.Duration(d), Model: "llama-3.1-8b"})
			}
		}},
		{"group/gauge", bareGauge, func(n int) {
			for range n {
				group.Record(ctx, instruments.Named("accuracy", x))
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) { compare(b, 2_000, c.base, c.subject) })
	}
}
