package instruments_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens/instruments"
	"github.com/nemo-lens/lens/semconv"
)

const ms = time.Millisecond

var sdkBounds = []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}

// record writes every value of every recorder.
func recordAll(m metric.Meter, opts ...instruments.Option) {
	ctx := context.Background()
	f, d, i := instruments.Float, instruments.Duration, instruments.Int
	instruments.NewTraining(m, opts...).Record(ctx, instruments.TrainingValues{
		StepDuration: d(1500 * ms), Loss: f(0.25), ThroughputTFLOPS: f(400), GradNorm: f(1.5),
		LearningRate: f(3e-4), TokensPerSecond: f(12000), SkippedIterations: i(2),
	})
	instruments.NewRL(m, opts...).Record(ctx, instruments.RLValues{
		RewardMean: f(1), KLDivergence: f(2), PolicyLoss: f(3), ValueLoss: f(4), Entropy: f(5), ResponseLengthMean: f(6),
		GradNorm: f(7), LearningRate: f(8), ThroughputTokensPerSec: f(9), GenerationDuration: d(50 * ms), RolloutDuration: d(100 * ms),
	})
	instruments.NewGym(m, opts...).Record(ctx, instruments.GymValues{
		ServerRequestDuration: d(10 * ms), RolloutDuration: d(125 * ms), VerifyDuration: d(40 * ms),
		VerifySuccessRate: f(0.75), ActiveServers: i(3),
	})
	instruments.NewInference(m, opts...).Record(ctx, instruments.InferenceValues{
		RequestDuration: d(1500 * ms), TimeToFirstToken: d(30 * ms), TimePerOutputToken: d(20 * ms), OperationDuration: d(1600 * ms),
		InputTokens: i(10), OutputTokens: i(200),
	})
}

var trainingWire = []wire{
	{"", "histogram", "megatron.training.step_duration_ms", "ms", "Duration of a training step in milliseconds."},
	{"", "gauge", "megatron.training.loss", "", "Training loss."},
	{"", "gauge", "megatron.training.throughput", "TFLOP/s/GPU", "Training throughput in TFLOP/s per GPU."},
	{"", "gauge", "megatron.training.grad_norm", "", "Gradient norm."},
	{"", "gauge", "megatron.training.learning_rate", "", "Current optimizer learning rate."},
	{"", "gauge", "megatron.training.tokens_per_sec", "{token}/s", "Training throughput in tokens per second."},
	{"", "counter", "megatron.training.skipped_iterations", "{iteration}", "Number of skipped iterations."},
}

var genAIWire = []wire{ // beside the two of the vectors
	{"", "histogram", "gen_ai.server.time_to_first_token", "s", "Time to generate first token for successful responses."},
	{"", "histogram", "gen_ai.server.time_per_output_token", "s", "Time per output token generated after the first token for successful responses."},
	{"", "histogram", "gen_ai.client.operation.duration", "s", "GenAI operation duration."},
}

func TestEveryInstrumentHasItsNameKindUnitAndDescription(t *testing.T) {
	t.Parallel()
	s, v := newSDK(t), vectors(t)
	recordAll(s.meter)
	got := s.collect()
	for _, want := range [][]wire{v.Inference, v.RL, v.Gym, trainingWire, genAIWire} {
		requireWire(t, want, got)
	}
	assert.Len(t, got, 2+11+5+7+3)
}

func TestEveryValueArrivesWhereItBelongs(t *testing.T) {
	t.Parallel()
	s := newSDK(t)
	recordAll(s.meter)
	stepBounds := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000}
	want := map[string]point{
		"megatron.training.step_duration_ms":   {value: 1500, count: 1, bound: stepBounds},
		"megatron.training.loss":               {value: 0.25},
		"megatron.training.throughput":         {value: 400},
		"megatron.training.grad_norm":          {value: 1.5},
		"megatron.training.learning_rate":      {value: 3e-4},
		"megatron.training.tokens_per_sec":     {value: 12000},
		"megatron.training.skipped_iterations": {value: 2},

		"rl.reward.mean":               {value: 1},
		"rl.kl_divergence":             {value: 2},
		"rl.policy_loss":               {value: 3},
		"rl.value_loss":                {value: 4},
		"rl.entropy":                   {value: 5},
		"rl.response_length.mean":      {value: 6},
		"rl.grad_norm":                 {value: 7},
		"rl.learning_rate":             {value: 8},
		"rl.throughput.tokens_per_sec": {value: 9},
		"rl.generation.duration_ms":    {value: 50, count: 1, bound: sdkBounds},
		"rl.rollout.duration_ms":       {value: 100, count: 1, bound: sdkBounds},

		"gym.server.request_duration_ms": {value: 10, count: 1, bound: sdkBounds},
		"gym.rollout.duration_ms":        {value: 125, count: 1, bound: sdkBounds},
		"gym.verify.duration_ms":         {value: 40, count: 1, bound: sdkBounds},
		"gym.verify.success_rate":        {value: 0.75},
		"gym.servers.active":             {value: 3},
	}
	got := s.collect()
	for name, w := range want {
		assert.Equal(t, []point{w}, points(got[name]), name)
	}
}

func TestRLNamesEqualTheSemanticConventions(t *testing.T) {
	t.Parallel()
	s := newSDK(t)
	recordAll(s.meter)
	got := s.collect()
	for _, key := range []attribute.Key{
		semconv.RLRewardMeanKey, semconv.RLKLDivergenceKey, semconv.RLPolicyLossKey, semconv.RLValueLossKey,
		semconv.RLEntropyKey, semconv.RLResponseLengthMeanKey, semconv.RLGradNormKey, semconv.RLLearningRateKey,
		semconv.RLThroughputTokensPerSecKey, semconv.GymVerifySuccessRateKey,
	} {
		assert.Contains(t, got, string(key))
	}
}

func TestNothingGivenNothingRecorded(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	instruments.NewTraining(s.meter).Record(ctx, instruments.TrainingValues{})
	instruments.NewRL(s.meter).Record(ctx, instruments.RLValues{})
	instruments.NewGym(s.meter).Record(ctx, instruments.GymValues{})
	instruments.NewInference(s.meter).Record(ctx, instruments.InferenceValues{Model: "m"})
	assert.Empty(t, s.collect())

	instruments.NewTraining(s.meter).Record(ctx, instruments.TrainingValues{Loss: instruments.Float(0), SkippedIterations: instruments.Int(0)})
	instruments.NewGym(s.meter).Record(ctx, instruments.GymValues{ActiveServers: instruments.Int(0)})
	got := s.collect()
	assert.Equal(t, []point{{value: 0}}, points(got["megatron.training.loss"]), "zero is a value")
	assert.Equal(t, []point{{value: 0}}, points(got["gym.servers.active"]), "zero servers is what shutdown reports")
	assert.Len(t, got, 2, "the counter of skipped iterations is added to only above 0")
}

func TestGaugesKeepTheLastValueAndNaN(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	g, tr := instruments.NewGym(s.meter), instruments.NewTraining(s.meter)
	g.Record(ctx, instruments.GymValues{ActiveServers: instruments.Int(3)})
	g.Record(ctx, instruments.GymValues{ActiveServers: instruments.Int(5)})
	tr.Record(ctx, instruments.TrainingValues{Loss: instruments.Float(math.NaN())})
	got := s.collect()
	assert.Equal(t, []point{{value: 5}}, points(got["gym.servers.active"]))
	require.Contains(t, got, "megatron.training.loss")
	assert.True(t, math.IsNaN(points(got["megatron.training.loss"])[0].value))
	assert.NotContains(t, got, "gym.server.request_duration_ms")
}

func TestAttributesAndNamespace(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	attrs := []attribute.KeyValue{attribute.String("z", "1"), attribute.String("a", "2")}
	tr := instruments.NewTraining(s.meter, nil, instruments.WithAttributes(attrs...), instruments.WithNamespace("vision"))
	attrs[0] = attribute.String("changed", "later")
	tr.Record(ctx, instruments.TrainingValues{Loss: instruments.Float(1), SkippedIterations: instruments.Int(1), StepDuration: instruments.Duration(ms)})
	got := s.collect()
	for _, name := range []string{"vision.loss", "vision.skipped_iterations", "vision.step_duration_ms"} {
		require.Contains(t, got, name)
		assert.Equal(t, "a=2,z=1", points(got[name])[0].attrs, name)
	}
}

func TestEachMeterHasItsOwnInstruments(t *testing.T) {
	t.Parallel()
	ctx, a, b := context.Background(), newSDK(t), newSDK(t)
	instruments.NewGym(a.meter).Record(ctx, instruments.GymValues{RolloutDuration: instruments.Duration(ms)})
	instruments.NewGym(b.meter).Record(ctx, instruments.GymValues{RolloutDuration: instruments.Duration(2 * ms)})
	instruments.NewGym(b.meter).Record(ctx, instruments.GymValues{RolloutDuration: instruments.Duration(2 * ms)})
	assert.Equal(t, []point{{value: 1, count: 1, bound: sdkBounds}}, points(a.collect()["gym.rollout.duration_ms"]))
	assert.Equal(t, []point{{value: 4, count: 2, bound: sdkBounds}}, points(b.collect()["gym.rollout.duration_ms"]))
}

// countingMeter counts what it is asked to create.
type countingMeter struct {
	metric.Meter
	mu      sync.Mutex
	created map[string]int
}

func (m *countingMeter) count(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.created == nil {
		m.created = make(map[string]int)
	}
	m.created[name]++
}

func (m *countingMeter) Float64Gauge(name string, o ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	m.count(name)
	return m.Meter.Float64Gauge(name, o...)
}

func (m *countingMeter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	m.count(name)
	return m.Meter.Float64Histogram(name, o...)
}

func TestInstrumentsAreCreatedOncePerMeterByManyGoroutines(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	m := &countingMeter{Meter: s.meter}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				recordAll(m)
				instruments.NewRL(m).Record(ctx, instruments.RLValues{RolloutDuration: instruments.Duration(ms)})
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, m.created)
	for name, n := range m.created {
		assert.Equal(t, 1, n, name)
	}
	assert.Equal(t, uint64(16*50*2), points(s.collect()["rl.rollout.duration_ms"])[0].count, "no value is lost")
}

func TestRecordersWithoutAMeterDoNothing(t *testing.T) {
	t.Parallel()
	var nilMeter *countingMeter
	type wrapped struct{ noop.Meter }
	for _, m := range []metric.Meter{nil, noop.Meter{}, &noop.Meter{}, nilMeter, wrapped{}, &wrapped{}} {
		assert.NotPanics(t, func() { recordAll(m) })
	}
	ctx := context.Background()
	assert.NotPanics(t, func() {
		(*instruments.Training)(nil).Record(ctx, instruments.TrainingValues{Loss: instruments.Float(1)})
		(*instruments.RL)(nil).Record(ctx, instruments.RLValues{Entropy: instruments.Float(1)})
		(*instruments.Gym)(nil).Record(ctx, instruments.GymValues{ActiveServers: instruments.Int(1)})
		(*instruments.Inference)(nil).Record(ctx, instruments.InferenceValues{InputTokens: instruments.Int(1)})
		(*instruments.GroupRecorder)(nil).Record(ctx, instruments.Named("k", 1))
		new(instruments.Training).Record(ctx, instruments.TrainingValues{Loss: instruments.Float(1)})
		new(instruments.Inference).Record(ctx, instruments.InferenceValues{InputTokens: instruments.Int(1)})
	})
}

// brokenMeter cannot create histograms, and panics when asked for a gauge.
type brokenMeter struct{ metric.Meter }

func (brokenMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, errors.New("no more histograms")
}

func (brokenMeter) Float64Gauge(string, ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	panic("gauges are off today")
}

func TestABrokenMeterIsLoggedOnceAndTheRestIsRecorded(t *testing.T) {
	t.Parallel()
	s, log := newSDK(t), new(logged)
	m := &brokenMeter{s.meter}
	for range 3 {
		recordAll(m, instruments.WithLogger(log.logger()))
	}
	got := s.collect()
	assert.Equal(t, []point{{value: 6}}, points(got["megatron.training.skipped_iterations"]))
	assert.Contains(t, got, "gym.servers.active")
	assert.Contains(t, got, "gen_ai.client.token.usage")
	assert.Len(t, got, 3)
	lines := log.lines()
	assert.Len(t, lines, 6+11+4+4, "one line for each instrument that is missing")
	assert.Contains(t, lines[0], `instrument=megatron.training.step_duration_ms error="no more histograms"`)
	assert.Contains(t, lines[1], "the meter panicked: gauges are off today")
}

// panickingMeter makes gauges that panic when they are set.
type panickingMeter struct{ metric.Meter }

type panickingGauge struct{ metric.Float64Gauge }

func (panickingGauge) Record(context.Context, float64, ...metric.RecordOption) { panic("full") }

func (panickingMeter) Float64Gauge(string, ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	return panickingGauge{}, nil
}

func TestAPanicOfAnInstrumentStaysInside(t *testing.T) {
	t.Parallel()
	ctx, s, log := context.Background(), newSDK(t), new(logged)
	rl := instruments.NewRL(&panickingMeter{s.meter}, instruments.WithLogger(log.logger()))
	for range 3 {
		assert.NotPanics(t, func() { rl.Record(ctx, instruments.RLValues{Entropy: instruments.Float(1)}) })
	}
	require.Len(t, log.lines(), 1)
	assert.Contains(t, log.lines()[0], "group=rl panic=full")
}

func TestAfterTheProviderIsShutDown(t *testing.T) {
	t.Parallel()
	s := newSDK(t)
	recordAll(s.meter)
	require.NoError(t, s.Shutdown(context.Background()))
	assert.NotPanics(t, func() { recordAll(s.meter) })
	assert.NotPanics(t, func() { recordAll(s.Meter("later")) })
	var got metricdata.ResourceMetrics
	assert.Error(t, s.reader.Collect(context.Background(), &got))
}
