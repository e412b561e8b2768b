package instruments_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens/instruments"
)

// show prints what a reader would export, one line a metric.
func show(reader sdkmetric.Reader) {
	var got metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &got); err != nil {
		fmt.Println(err)
	}
	var lines []string
	for _, scope := range got.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, p := range points(m) {
				line := []string{m.Name, kindOf(m), fmt.Sprint(p.value)}
				if m.Unit != "" {
					line = append(line, m.Unit)
				}
				if p.attrs != "" {
					line = append(line, "("+p.attrs+")")
				}
				lines = append(lines, strings.Join(line, " "))
			}
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

func ExampleNewTraining() {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	training := instruments.NewTraining(provider.Meter("trainer"))
	for step := range 3 {
		training.Record(context.Background(), instruments.TrainingValues{
			StepDuration: instruments.Duration(250 * time.Millisecond),
			Loss:         instruments.Float(2.5 - float64(step)/2),
		})
	}
	training.Record(context.Background(), instruments.TrainingValues{SkippedIterations: instruments.Int(1)})

	show(reader)
	// Output:
	// megatron.training.loss gauge 1.5
	// megatron.training.skipped_iterations counter 1 {iteration}
	// megatron.training.step_duration_ms histogram 750 ms
}

func ExampleNewInference() {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	inference := instruments.NewInference(provider.Meter("server"))
	inference.Record(context.Background(), instruments.InferenceValues{
		RequestDuration: instruments.Duration(1500 * time.Millisecond),
		InputTokens:     instruments.Int(12),
		OutputTokens:    instruments.Int(256),
		Model:           "llama-3.1-8b",
		Operation:       "chat",
	})

	show(reader)
	// Output:
	// gen_ai.client.token.usage histogram 12 {token} (gen_ai.operation.name=chat,gen_ai.provider.name=nemo,gen_ai.request.model=llama-3.1-8b,gen_ai.token.type=input)
	// gen_ai.client.token.usage histogram 256 {token} (gen_ai.operation.name=chat,gen_ai.provider.name=nemo,gen_ai.request.model=llama-3.1-8b,gen_ai.token.type=output)
	// gen_ai.server.request.duration histogram 1.5 s (gen_ai.operation.name=chat,gen_ai.provider.name=nemo,gen_ai.request.model=llama-3.1-8b)
}

func ExampleNewRL() {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	rl := instruments.NewRL(provider.Meter("rl"))
	rl.Record(context.Background(), instruments.RLValues{
		RewardMean:      instruments.Float(0.5),
		KLDivergence:    instruments.Float(0), // given: recorded
		RolloutDuration: instruments.Duration(2 * time.Second),
	})

	show(reader)
	// Output:
	// rl.kl_divergence gauge 0
	// rl.reward.mean gauge 0.5
	// rl.rollout.duration_ms histogram 2000 ms
}

func ExampleNewGym() {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	gym := instruments.NewGym(provider.Meter("gym"))
	gym.Record(context.Background(), instruments.GymValues{
		VerifyDuration:    instruments.Duration(40 * time.Millisecond),
		VerifySuccessRate: instruments.Float(0.75),
	})

	show(reader)
	// Output:
	// gym.verify.duration_ms histogram 40 ms
	// gym.verify.success_rate gauge 0.75
}

// A program defines metrics of its own and records them by key.
func ExampleRegistry() {
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("eval")

	var registry instruments.Registry
	err := registry.Register("eval",
		instruments.MetricSpec{Key: "accuracy", Name: "eval.accuracy", Description: "Share of right answers."},
		instruments.MetricSpec{Key: "samples", Name: "eval.samples", Kind: instruments.Counter, Unit: "{sample}"},
	)
	if err != nil {
		fmt.Println(err)
	}
	task := []attribute.KeyValue{attribute.String("task", "gsm8k")}
	registry.Record(context.Background(), meter, "eval", task,
		instruments.Named("accuracy", 0.5), instruments.Named("samples", 128))

	show(reader)
	// Output:
	// eval.accuracy gauge 0.5 (task=gsm8k)
	// eval.samples counter 128 {sample} (task=gsm8k)
}

func ExampleRegistry_Register() {
	var registry instruments.Registry
	fmt.Println(registry.Register("eval", instruments.MetricSpec{Key: "accuracy", Name: "eval.accuracy", Kind: "percentage"}))
	// Output:
	// lens: metric group "eval": metric "accuracy" has kind "percentage": want gauge, histogram, counter or up_down_counter
}

// On a hot path the group, the meter and the attributes are bound once.
func ExampleGroupRecorder() {
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("eval")

	var registry instruments.Registry
	if err := registry.Register("eval", instruments.MetricSpec{Key: "samples", Name: "eval.samples", Kind: instruments.Counter}); err != nil {
		fmt.Println(err)
	}
	recorder := registry.Recorder(meter, "eval", attribute.String("task", "gsm8k"))
	for range 10 {
		recorder.Record(context.Background(), instruments.Named("samples", 1))
	}

	show(reader)
	// Output:
	// eval.samples counter 10 (task=gsm8k)
}

// Zero is a number; the zero value is no number.
func ExampleFloat() {
	given, ok := instruments.Float(0).Get()
	fmt.Println(given, ok)
	missing, ok := instruments.OptFloat{}.Get()
	fmt.Println(missing, ok)
	// Output:
	// 0 true
	// 0 false
}
