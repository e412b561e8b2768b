package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/internal/iris"
	"github.com/nemo-lens/lens/examples/internal/mlp"
	"github.com/nemo-lens/lens/examples/ranks/internal/collective"
	"github.com/nemo-lens/lens/semconv"
)

// communication is a group of this program's own: the time in collectives.
const communication lens.SpanGroup = "communication"

// groups are the base groups with communication, which per_step records too.
var groups = lens.MustGroupClass("ranks", append(lens.BaseGroups.Groups().Groups(), communication), map[string][]lens.SpanGroup{
	"default":  {lens.Job, lens.Evaluate},
	"per_step": {lens.Job, lens.Evaluate, lens.Step, lens.ForwardBackward, lens.Optimizer, communication},
})

// Span names. Each is recorded when its group is on.
const (
	spanJob             = "ranks.job"              // group job, on one rank: the whole job
	spanRank            = "ranks.rank"             // group job, on every rank, inside ranks.job
	spanStep            = "ranks.step"             // group step
	spanForwardBackward = "ranks.forward_backward" // group forward_backward
	spanAllReduce       = "ranks.all_reduce"       // group communication
	spanOptimizer       = "ranks.optimizer"        // group optimizer
	spanEvaluate        = "ranks.evaluate"         // group evaluate
)

const (
	samplesKey  = attribute.Key("ranks.samples")
	accuracyKey = attribute.Key("ranks.accuracy")
)

// Streams keep the random draws of one seed apart.
const (
	streamWeights = 1
	streamOrder   = 1 << 32 // plus the epoch
)

const heldOut = 0.3

// trainer is one rank's model and data. The data are the same on every rank, and
// so are the weights, before and after every step. One goroutine at a time.
type trainer struct {
	settings
	group       *collective.Group
	train, test iris.Dataset
	network     *mlp.Network
	adam        *mlp.Adam
	message     []float64 // the gradient and, in the last place, the loss
	order       []int     // of the training samples in epoch orderEpoch
	orderEpoch  int       // -1: not drawn yet
	share       iris.Dataset
}

func newTrainer(s settings, g *collective.Group) (*trainer, error) {
	all, err := iris.Load()
	if err != nil {
		return nil, err
	}
	t := &trainer{settings: s, group: g, orderEpoch: -1}
	if t.train, t.test, err = all.Split(s.seed, heldOut); err != nil {
		return nil, err
	}
	scaler, err := iris.FitScaler(t.train)
	if err != nil {
		return nil, err
	}
	t.train, t.test = scaler.Apply(t.train), scaler.Apply(t.test)
	// The same seed gives every rank the same weights, without a broadcast.
	rng := rand.New(rand.NewPCG(s.seed, streamWeights))
	if t.network, err = mlp.New(rng, iris.Features, s.hidden, len(iris.Species())); err != nil {
		return nil, err
	}
	if t.adam, err = mlp.NewAdam(s.learningRate, len(t.network.Params())); err != nil {
		return nil, err
	}
	t.message = make([]float64, len(t.network.Params())+1)
	return t, nil
}

// run trains to the end and measures the model. The loss is that of the last
// batch, over all ranks.
func (t *trainer) run(ctx context.Context) (e mlp.Evaluation, loss float64, err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Job, spanRank, samplesKey.Int(t.train.Len()), semconv.DLBatchSizeKey.Int(t.batch))
	defer lens.End(span, &err)
	for i := range t.steps {
		if loss, err = t.step(ctx, i); err != nil {
			return e, loss, err
		}
	}
	e, err = t.evaluate(ctx)
	return e, loss, err
}

// step trains on the next batch, this rank on its share of it.
func (t *trainer) step(ctx context.Context, i int) (loss float64, err error) {
	iteration := semconv.DLIterationKey.Int(i + 1)
	ctx, span := lens.ManagedSpan(ctx, lens.Step, spanStep, iteration)
	defer lens.End(span, &err)

	t.nextShare(i)
	if err := t.forwardBackward(ctx, iteration); err != nil {
		return 0, err
	}
	if err := t.allReduce(ctx, iteration); err != nil {
		return 0, err
	}
	loss = t.message[len(t.message)-1]
	span.SetAttributes(semconv.DLLossKey.Float64(loss))
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return loss, fmt.Errorf("step %d: the loss is %v, training has diverged: use a smaller -lr than %v", i+1, loss, t.learningRate)
	}
	return loss, t.update(ctx, iteration)
}

// nextShare fills t.share with this rank's part of batch i. Batches follow each
// other through the epochs, each in an order of its own, so all have one size.
func (t *trainer) nextShare(i int) {
	t.share.X, t.share.Y = t.share.X[:0], t.share.Y[:0]
	rank, world := t.group.Rank(), t.group.WorldSize()
	for k := rank * t.batch / world; k < (rank+1)*t.batch/world; k++ {
		at := i*t.batch + k
		row := t.row(at/t.train.Len(), at%t.train.Len())
		t.share.X = append(t.share.X, t.train.X[row])
		t.share.Y = append(t.share.Y, t.train.Y[row])
	}
}

func (t *trainer) row(epoch, at int) int {
	if t.orderEpoch != epoch {
		rng := rand.New(rand.NewPCG(t.seed, streamOrder+uint64(epoch)))
		t.order, t.orderEpoch = rng.Perm(t.train.Len()), epoch
	}
	return t.order[at]
}

// forwardBackward computes the gradient of the share. The slow rank does it many
// times over: real work, which the scheduler sees as such.
func (t *trainer) forwardBackward(ctx context.Context, iteration attribute.KeyValue) (err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.ForwardBackward, spanForwardBackward, iteration, semconv.DLBatchSizeKey.Int(t.share.Len()))
	defer lens.End(span, &err)
	if t.group.Rank() == t.hangRank && iteration.Value.AsInt64() == int64(t.hangStep) {
		<-ctx.Done() // the other ranks wait for this one in their all-reduce
		return ctx.Err()
	}
	times := 1
	if t.group.Rank() == t.slowRank {
		times = t.slowWork
	}
	gradient, loss := t.message[:len(t.message)-1], &t.message[len(t.message)-1]
	for range times {
		if *loss, err = t.network.LossGrad(t.share.X, t.share.Y, gradient); err != nil {
			return err
		}
	}
	// A share's mean counts as much as it has samples, so that the sum over the
	// ranks is the mean over the batch, also when the batch cannot be divided.
	weight := float64(t.share.Len()) / float64(t.batch)
	for i := range t.message {
		t.message[i] *= weight
	}
	return nil
}

func (t *trainer) allReduce(ctx context.Context, iteration attribute.KeyValue) (err error) {
	ctx, span := lens.ManagedSpan(ctx, communication, spanAllReduce, iteration)
	defer lens.End(span, &err)
	return t.group.AllReduce(ctx, t.message)
}

func (t *trainer) update(ctx context.Context, iteration attribute.KeyValue) (err error) {
	_, span := lens.ManagedSpan(ctx, lens.Optimizer, spanOptimizer, iteration)
	defer lens.End(span, &err)
	return t.adam.Update(t.network.Params(), t.message[:len(t.message)-1])
}

// evaluate measures the model on the samples held out.
func (t *trainer) evaluate(ctx context.Context) (e mlp.Evaluation, err error) {
	_, span := lens.ManagedSpan(ctx, lens.Evaluate, spanEvaluate, samplesKey.Int(t.test.Len()))
	defer lens.End(span, &err)
	if e, err = t.network.Evaluate(t.test.X, t.test.Y); err != nil {
		return e, err
	}
	span.SetAttributes(accuracyKey.Float64(e.Accuracy()))
	return e, nil
}

// fingerprint is the same on two ranks when every bit of every weight is.
func (t *trainer) fingerprint() string {
	h := sha256.New()
	for _, p := range t.network.Params() {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], math.Float64bits(p))
		_, _ = h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
