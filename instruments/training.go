package instruments

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/metric"
)

// TrainingNamespace is what the names of [Training] begin with, unless
// [WithNamespace] says otherwise.
const TrainingNamespace = "megatron.training"

// stepBounds are the bucket boundaries of the step duration, in milliseconds. The
// SDK's own end at 10 s, and a step of a large model is longer than that.
var stepBounds = []float64{
	1, 2, 5, 10, 20, 50, 100, 200, 500,
	1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5,
}

// TrainingValues is what one training step may report. A field that is not given
// is not recorded.
type TrainingValues struct {
	StepDuration     OptDuration // wall time of the step
	Loss             OptFloat    // NaN is recorded: a diverged run must be seen
	ThroughputTFLOPS OptFloat    // TFLOP/s on each GPU
	GradNorm         OptFloat
	LearningRate     OptFloat
	TokensPerSecond  OptFloat
	// SkippedIterations is how many iterations were skipped since the last call.
	// It is added to a counter when it is above 0.
	SkippedIterations OptInt
}

// Training records the progress of a training run. It is safe for concurrent use;
// a nil *Training records nothing.
type Training struct {
	in     *trainingInstruments // nil when nothing can be recorded
	points points
	logger *slog.Logger
	warned warnings
}

type trainingInstruments struct {
	step                                     metric.Float64Histogram
	loss, throughput, gradNorm, rate, tokens metric.Float64Gauge
	skipped                                  metric.Int64Counter
}

var trainingSets perMeter[string, *trainingInstruments]

// NewTraining returns a recorder for meter. With a nil meter, or one that does
// nothing, it records nothing and costs next to nothing. An instrument that cannot
// be created is logged once for each meter and left out. The attributes of
// [WithAttributes] are on every point; without it there are none.
func NewTraining(meter metric.Meter, opts ...Option) *Training {
	o := newOptions(opts)
	t := &Training{points: newPoints(o.attrs...), logger: o.logger}
	if inert(meter) {
		return t
	}
	ns := o.namespace
	if ns == "" {
		ns = TrainingNamespace
	}
	b := &builder{meter: meter}
	in, built := trainingSets.get(meter, ns, func() *trainingInstruments {
		in := &trainingInstruments{
			step:       b.histogram(def{ns + ".step_duration_ms", "ms", "Duration of a training step in milliseconds.", stepBounds}),
			loss:       b.gauge(def{ns + ".loss", "", "Training loss.", nil}),
			throughput: b.gauge(def{ns + ".throughput", "TFLOP/s/GPU", "Training throughput in TFLOP/s per GPU.", nil}),
			gradNorm:   b.gauge(def{ns + ".grad_norm", "", "Gradient norm.", nil}),
			rate:       b.gauge(def{ns + ".learning_rate", "", "Current optimizer learning rate.", nil}),
			tokens:     b.gauge(def{ns + ".tokens_per_sec", "{token}/s", "Training throughput in tokens per second.", nil}),
			skipped:    b.intCounter(def{ns + ".skipped_iterations", "{iteration}", "Number of skipped iterations.", nil}),
		}
		if !b.live {
			return nil
		}
		return in
	})
	if built {
		b.report(o.logger, "training")
	}
	t.in = in
	return t
}

// Record records the values that are given. The trace of ctx, if any, becomes the
// exemplar.
func (t *Training) Record(ctx context.Context, v TrainingValues) {
	if t == nil || t.in == nil {
		return
	}
	t.record(ctx, &v)
}

func (t *Training) record(ctx context.Context, v *TrainingValues) {
	defer t.warned.recovered(t.logger, "training")
	in, p := t.in, &t.points
	recordMillis(ctx, in.step, v.StepDuration, p)
	setGauge(ctx, in.loss, v.Loss, p)
	setGauge(ctx, in.throughput, v.ThroughputTFLOPS, p)
	setGauge(ctx, in.gradNorm, v.GradNorm, p)
	setGauge(ctx, in.rate, v.LearningRate, p)
	setGauge(ctx, in.tokens, v.TokensPerSecond, p)
	if n, ok := v.SkippedIterations.Get(); ok && n > 0 && in.skipped != nil {
		in.skipped.Add(ctx, n, p.add...)
	}
}
