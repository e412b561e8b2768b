package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/internal/iris"
	"github.com/nemo-lens/lens/examples/internal/mlp"
	"github.com/nemo-lens/lens/instruments"
	"github.com/nemo-lens/lens/semconv"
)

// Span names. Each is recorded when its group is on.
const (
	spanJob             = "train.job"              // group job
	spanModelInit       = "train.model_init"       // group model_init
	spanLoadCheckpoint  = "train.load_checkpoint"  // group load_checkpoint
	spanStep            = "train.step"             // group step
	spanForwardBackward = "train.forward_backward" // group forward_backward
	spanOptimizer       = "train.optimizer"        // group optimizer
	spanEvaluate        = "train.evaluate"         // group evaluate
	spanCheckpoint      = "train.checkpoint"       // group checkpoint
)

// Attributes that the semantic conventions have no name for.
const (
	epochKey      = attribute.Key("train.epoch")
	paramsKey     = attribute.Key("train.model.parameters")
	samplesKey    = attribute.Key("train.evaluation.samples")
	accuracyKey   = attribute.Key("train.evaluation.accuracy")
	checkpointKey = attribute.Key("train.checkpoint.path")
)

// Streams keep the random draws of one seed apart.
const (
	streamWeights = 1
	streamOrder   = 1 << 32 // plus the epoch
)

// result is what a finished run has to say.
type result struct {
	evaluation mlp.Evaluation
	steps      int // in total, with those of the runs that were resumed
	took       time.Duration
	checkpoint string // empty when it was in a temporary folder
}

func (r result) String() string {
	s := fmt.Sprintf("trained %d steps in %s: accuracy %.4f (%d of %d held-out samples), loss %.4f",
		r.steps, readable(r.took), r.evaluation.Accuracy(), r.evaluation.Correct, r.evaluation.Total, r.evaluation.Loss)
	if r.checkpoint != "" {
		s += ", checkpoint " + r.checkpoint
	}
	return s
}

// train runs the whole job. The accuracy it returns is that of the model read
// back from the last checkpoint, on samples that training never saw. When ctx is
// cancelled it writes a checkpoint and returns the cause.
func train(ctx context.Context, o options, meter metric.Meter) (r result, err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Job, spanJob,
		semconv.DLBatchSizeKey.Int(o.BatchSize), semconv.DLLearningRateKey.Float64(o.LearningRate))
	defer lens.End(span, &err)

	begin := time.Now()
	keep := o.dir != ""
	if keep {
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return r, fmt.Errorf("checkpoint folder: %w", err)
		}
	} else {
		if o.dir, err = os.MkdirTemp("", "lens-training-"); err != nil {
			return r, fmt.Errorf("checkpoint folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}

	t, err := newTrainer(ctx, o)
	if err != nil {
		return r, err
	}
	t.metrics = instruments.NewTraining(meter, instruments.WithNamespace("train"))
	if o.resume {
		path, err := latestCheckpoint(o.dir)
		if err != nil {
			return r, err
		}
		if err := t.load(ctx, path); err != nil {
			return r, err
		}
	}
	if err := t.run(ctx); err != nil {
		return r, err
	}

	// What was saved is what counts: read it back before judging it.
	path, err := latestCheckpoint(o.dir)
	if err != nil {
		return r, err
	}
	if err := t.load(ctx, path); err != nil {
		return r, err
	}
	r = result{steps: t.steps}
	if keep {
		r.checkpoint = path
	}
	if r.evaluation, err = t.evaluate(ctx); err != nil {
		return r, err
	}
	r.took = time.Since(begin)
	return r, nil
}

// trainer holds one run's data, model and position. One goroutine at a time.
type trainer struct {
	options
	train, test iris.Dataset
	network     *mlp.Network
	adam        *mlp.Adam
	grad        []float64
	steps       int                         // made so far
	batch       iris.Dataset                // room for one batch
	order       []int                       // of the training samples in epoch orderEpoch
	orderEpoch  int                         // -1: not drawn yet
	update      func(context.Context) error // one optimizer step, traced
	metrics     *instruments.Training       // records nothing without an export of metrics
}

// newTrainer reads the data and makes a model with fresh weights.
func newTrainer(ctx context.Context, o options) (t *trainer, err error) {
	_, span := lens.ManagedSpan(ctx, lens.ModelInit, spanModelInit)
	defer lens.End(span, &err)

	all, err := iris.Load()
	if err != nil {
		return nil, err
	}
	t = &trainer{options: o, orderEpoch: -1}
	if t.train, t.test, err = all.Split(o.Seed, o.HeldOut); err != nil {
		return nil, err
	}
	scaler, err := iris.FitScaler(t.train)
	if err != nil {
		return nil, err
	}
	t.train, t.test = scaler.Apply(t.train), scaler.Apply(t.test)

	rng := rand.New(rand.NewPCG(o.Seed, streamWeights))
	if t.network, err = mlp.New(rng, iris.Features, o.Hidden, len(iris.Species())); err != nil {
		return nil, err
	}
	if t.adam, err = mlp.NewAdam(o.LearningRate, len(t.network.Params())); err != nil {
		return nil, err
	}
	t.grad = make([]float64, len(t.network.Params()))
	// Wrapped once; whether a span is recorded is decided at every call.
	t.update = lens.TraceErrFn(lens.Optimizer, spanOptimizer, t.applyGradient)
	span.SetAttributes(paramsKey.Int(len(t.network.Params())))
	return t, nil
}

func (t *trainer) stepsPerEpoch() int { return (t.train.Len() + t.BatchSize - 1) / t.BatchSize }

// run makes the steps that are left, with an evaluation and a checkpoint every
// so many epochs, and a checkpoint at the end in any case.
func (t *trainer) run(ctx context.Context) error {
	perEpoch := t.stepsPerEpoch()
	total := t.epochs * perEpoch
	if t.steps > total {
		return fmt.Errorf("the checkpoint is at step %d, beyond -epochs=%d (%d steps): ask for more epochs", t.steps, t.epochs, total)
	}
	for t.steps < total {
		if ctx.Err() != nil {
			return t.interrupted(ctx)
		}
		if err := t.step(ctx); err != nil {
			return err
		}
		if t.steps%perEpoch != 0 {
			continue
		}
		epoch := t.steps / perEpoch
		if epoch%t.evaluateEvery == 0 {
			if _, err := t.evaluate(ctx); err != nil {
				return err
			}
		}
		if epoch%t.checkpointEvery == 0 && t.steps < total {
			if err := t.save(ctx); err != nil {
				return err
			}
		}
	}
	return t.save(ctx)
}

func (t *trainer) interrupted(ctx context.Context) error {
	err := fmt.Errorf("interrupted after step %d (%v): %w", t.steps, context.Cause(ctx), ctx.Err())
	return errors.Join(err, t.save(ctx))
}

// step trains on the next batch.
func (t *trainer) step(ctx context.Context) (err error) {
	epoch := t.steps / t.stepsPerEpoch()
	ctx, span := lens.ManagedSpan(ctx, lens.Step, spanStep, semconv.DLIterationKey.Int(t.steps+1), epochKey.Int(epoch+1))
	defer lens.End(span, &err)

	begin := time.Now()
	t.nextBatch(epoch)
	loss, err := t.forwardBackward(ctx)
	if err != nil {
		return err
	}
	span.SetAttributes(semconv.DLLossKey.Float64(loss))
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("step %d: the loss is %v, training has diverged: use a smaller -lr than %v", t.steps+1, loss, t.LearningRate)
	}
	if err := t.update(ctx); err != nil {
		return err
	}
	t.steps++
	t.metrics.Record(ctx, instruments.TrainingValues{
		StepDuration: instruments.Duration(time.Since(begin)),
		Loss:         instruments.Float(loss),
		LearningRate: instruments.Float(t.LearningRate),
		GradNorm:     instruments.Float(norm(t.grad)),
	})
	return nil
}

// norm is the Euclidean one.
func norm(gradient []float64) float64 {
	sum := 0.0
	for _, g := range gradient {
		sum += g * g
	}
	return math.Sqrt(sum)
}

// nextBatch fills t.batch. The order of an epoch follows from the seed and the
// epoch alone, so that a resumed run continues with the right samples.
func (t *trainer) nextBatch(epoch int) {
	if t.orderEpoch != epoch {
		rng := rand.New(rand.NewPCG(t.Seed, streamOrder+uint64(epoch)))
		t.order, t.orderEpoch = rng.Perm(t.train.Len()), epoch
	}
	first := (t.steps % t.stepsPerEpoch()) * t.BatchSize
	last := min(first+t.BatchSize, t.train.Len())
	t.batch.X, t.batch.Y = t.batch.X[:0], t.batch.Y[:0]
	for _, row := range t.order[first:last] {
		t.batch.X = append(t.batch.X, t.train.X[row])
		t.batch.Y = append(t.batch.Y, t.train.Y[row])
	}
}

func (t *trainer) forwardBackward(ctx context.Context) (loss float64, err error) {
	_, span := lens.ManagedSpan(ctx, lens.ForwardBackward, spanForwardBackward, semconv.DLBatchSizeKey.Int(t.batch.Len()))
	defer lens.End(span, &err)
	return t.network.LossGrad(t.batch.X, t.batch.Y, t.grad)
}

func (t *trainer) applyGradient(context.Context) error {
	return t.adam.Update(t.network.Params(), t.grad)
}

// evaluate measures the model on the samples held out.
func (t *trainer) evaluate(ctx context.Context) (e mlp.Evaluation, err error) {
	_, span := lens.ManagedSpan(ctx, lens.Evaluate, spanEvaluate, semconv.DLIterationKey.Int(t.steps))
	defer lens.End(span, &err)
	if e, err = t.network.Evaluate(t.test.X, t.test.Y); err != nil {
		return e, err
	}
	span.SetAttributes(samplesKey.Int(e.Total), accuracyKey.Float64(e.Accuracy()), semconv.DLLossKey.Float64(e.Loss))
	return e, nil
}

func (t *trainer) save(ctx context.Context) (err error) {
	_, span := lens.ManagedSpan(ctx, lens.Checkpoint, spanCheckpoint, semconv.DLIterationKey.Int(t.steps))
	defer lens.End(span, &err)
	path, err := checkpoint{
		Format:    checkpointFormat,
		Settings:  t.settings,
		Step:      t.steps,
		Layers:    t.network.Sizes(),
		Params:    t.network.Params(),
		Optimizer: t.adam,
	}.save(t.dir)
	if err != nil {
		return err
	}
	span.SetAttributes(checkpointKey.String(path))
	return nil
}

// load puts the model, the optimizer and the position of a checkpoint in place.
func (t *trainer) load(ctx context.Context, path string) (err error) {
	_, span := lens.ManagedSpan(ctx, lens.LoadCheckpoint, spanLoadCheckpoint, checkpointKey.String(path))
	defer lens.End(span, &err)
	c, err := loadCheckpoint(path, t.settings)
	if err != nil {
		return err
	}
	if err := t.network.SetParams(c.Params); err != nil {
		return fmt.Errorf("checkpoint %s: %w", path, err)
	}
	t.adam, t.steps = c.Optimizer, c.Step
	span.SetAttributes(semconv.DLIterationKey.Int(t.steps))
	return nil
}
