package instruments

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/metric"
)

// RLValues is what one step of reinforcement learning may report. A field that is
// not given is not recorded.
type RLValues struct {
	RewardMean             OptFloat // over the rollout batch
	KLDivergence           OptFloat // between policy and reference
	PolicyLoss             OptFloat
	ValueLoss              OptFloat
	Entropy                OptFloat // of the policy
	ResponseLengthMean     OptFloat // tokens
	GradNorm               OptFloat // of the policy update
	LearningRate           OptFloat
	ThroughputTokensPerSec OptFloat
	GenerationDuration     OptDuration
	RolloutDuration        OptDuration
}

// RL records the progress of reinforcement learning. Names, units and descriptions
// are those of NeMo Lens v0.2.0. It is safe for concurrent use; a nil *RL records
// nothing.
type RL struct {
	in     *rlInstruments // nil when nothing can be recorded
	points points
	logger *slog.Logger
	warned warnings
}

type rlInstruments struct {
	reward, kl, policyLoss, valueLoss, entropy, length, gradNorm, rate, tokens metric.Float64Gauge
	generation, rollout                                                        metric.Float64Histogram
}

var rlSets perMeter[struct{}, *rlInstruments]

// NewRL returns a recorder for meter. With a nil meter, or one that does nothing,
// it records nothing and costs next to nothing. An instrument that cannot be
// created is logged once for each meter and left out. The points have no
// attributes unless [WithAttributes] gives some.
func NewRL(meter metric.Meter, opts ...Option) *RL {
	o := newOptions(opts)
	r := &RL{points: newPoints(o.attrs...), logger: o.logger}
	if inert(meter) {
		return r
	}
	b := &builder{meter: meter}
	in, built := rlSets.get(meter, struct{}{}, func() *rlInstruments {
		in := &rlInstruments{
			reward:     b.gauge(def{"rl.reward.mean", "", "Mean reward across rollout batch.", nil}),
			kl:         b.gauge(def{"rl.kl_divergence", "", "KL divergence between policy and reference.", nil}),
			policyLoss: b.gauge(def{"rl.policy_loss", "", "Policy gradient loss.", nil}),
			valueLoss:  b.gauge(def{"rl.value_loss", "", "Value function loss.", nil}),
			entropy:    b.gauge(def{"rl.entropy", "", "Policy entropy.", nil}),
			length:     b.gauge(def{"rl.response_length.mean", "", "Mean generated response length (tokens).", nil}),
			gradNorm:   b.gauge(def{"rl.grad_norm", "", "Gradient norm of the policy update.", nil}),
			rate:       b.gauge(def{"rl.learning_rate", "", "Current optimizer learning rate.", nil}),
			tokens:     b.gauge(def{"rl.throughput.tokens_per_sec", "{token}/s", "Training throughput in tokens per second.", nil}),
			generation: b.histogram(def{"rl.generation.duration_ms", "ms", "Duration of text generation in milliseconds.", nil}),
			rollout:    b.histogram(def{"rl.rollout.duration_ms", "ms", "Duration of rollout collection in milliseconds.", nil}),
		}
		if !b.live {
			return nil
		}
		return in
	})
	if built {
		b.report(o.logger, "rl")
	}
	r.in = in
	return r
}

// Record records the values that are given. The trace of ctx, if any, becomes the
// exemplar.
func (r *RL) Record(ctx context.Context, v RLValues) {
	if r == nil || r.in == nil {
		return
	}
	r.record(ctx, &v)
}

func (r *RL) record(ctx context.Context, v *RLValues) {
	defer r.warned.recovered(r.logger, "rl")
	in, p := r.in, &r.points
	setGauge(ctx, in.reward, v.RewardMean, p)
	setGauge(ctx, in.kl, v.KLDivergence, p)
	setGauge(ctx, in.policyLoss, v.PolicyLoss, p)
	setGauge(ctx, in.valueLoss, v.ValueLoss, p)
	setGauge(ctx, in.entropy, v.Entropy, p)
	setGauge(ctx, in.length, v.ResponseLengthMean, p)
	setGauge(ctx, in.gradNorm, v.GradNorm, p)
	setGauge(ctx, in.rate, v.LearningRate, p)
	setGauge(ctx, in.tokens, v.ThroughputTokensPerSec, p)
	recordMillis(ctx, in.generation, v.GenerationDuration, p)
	recordMillis(ctx, in.rollout, v.RolloutDuration, p)
}
