// Package mlp is a multilayer perceptron for classification: fully connected
// layers, tanh between them, softmax cross-entropy at the end, all in float64.
//
// All parameters of a network are one flat slice, and so is a gradient. That is
// what an optimizer wants, and what makes averaging gradients over several
// processes one message.
package mlp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Network is a multilayer perceptron. Its methods share scratch memory: one
// goroutine at a time.
type Network struct {
	sizes  []int
	params []float64
	layers []layer
	probs  []float64
	delta  [2][]float64 // gradients at the output and at the input of one layer
}

// layer is one fully connected layer: out = act(w·in + b). w (row-major, one row
// per output) and b are windows into Network.params that start at offset.
type layer struct {
	in, out int
	offset  int
	w, b    []float64
	act     []float64
}

// New makes a network whose layers have these sizes, the input first and the
// number of classes last. Weights are drawn from rng, uniform within
// sqrt(6/(in+out)) of zero (Glorot and Bengio 2010); biases are zero. It wants at
// least an input of one and two classes.
func New(rng *rand.Rand, sizes ...int) (*Network, error) {
	if len(sizes) < 2 {
		return nil, fmt.Errorf("mlp: layer sizes %v: want at least an input and an output", sizes)
	}
	for _, size := range sizes {
		if size < 1 {
			return nil, fmt.Errorf("mlp: layer sizes %v: want whole numbers above 0", sizes)
		}
	}
	classes := sizes[len(sizes)-1]
	if classes < 2 {
		return nil, fmt.Errorf("mlp: layer sizes %v: want at least 2 classes at the end", sizes)
	}

	count := 0
	for i := range len(sizes) - 1 {
		count += (sizes[i] + 1) * sizes[i+1]
	}
	widest := slices.Max(sizes)
	n := &Network{
		sizes:  slices.Clone(sizes),
		params: make([]float64, count),
		probs:  make([]float64, classes),
		delta:  [2][]float64{make([]float64, widest), make([]float64, widest)},
	}
	offset := 0
	for i := range len(sizes) - 1 {
		l := layer{in: sizes[i], out: sizes[i+1], offset: offset}
		l.w = n.params[offset : offset+l.in*l.out]
		offset += l.in * l.out
		l.b = n.params[offset : offset+l.out]
		offset += l.out
		l.act = make([]float64, l.out)
		limit := math.Sqrt(6 / float64(l.in+l.out))
		for k := range l.w {
			l.w[k] = (2*rng.Float64() - 1) * limit
		}
		n.layers = append(n.layers, l)
	}
	return n, nil
}

// Sizes returns the layer sizes, the input first.
func (n *Network) Sizes() []int { return slices.Clone(n.sizes) }

// Params returns the parameters themselves, not a copy: an optimizer writes to
// them in place.
func (n *Network) Params() []float64 { return n.params }

// SetParams copies params into the network. It wants exactly as many as the
// network has, all finite.
func (n *Network) SetParams(params []float64) error {
	if len(params) != len(n.params) {
		return fmt.Errorf("mlp: %d parameters for layers %v: want %d", len(params), n.sizes, len(n.params))
	}
	for i, p := range params {
		if math.IsNaN(p) || math.IsInf(p, 0) {
			return fmt.Errorf("mlp: parameter %d is %v: want a finite number", i, p)
		}
	}
	copy(n.params, params)
	return nil
}

// forward leaves the activations in the layers and the class probabilities in
// n.probs, and returns the logarithm of the sum that softmax divides by, so that
// the loss can be computed without the logarithm of a vanishing probability.
func (n *Network) forward(x []float64) (logSum float64) {
	in := x
	for k := range n.layers {
		l := &n.layers[k]
		last := k == len(n.layers)-1
		for o := range l.act {
			sum := l.b[o]
			for i, w := range l.w[o*l.in : (o+1)*l.in] {
				sum += w * in[i]
			}
			if !last {
				sum = math.Tanh(sum)
			}
			l.act[o] = sum
		}
		in = l.act
	}
	// Subtracting the largest logit keeps exp within range.
	top := slices.Max(in)
	sum := 0.0
	for i, logit := range in {
		n.probs[i] = math.Exp(logit - top)
		sum += n.probs[i]
	}
	for i := range n.probs {
		n.probs[i] /= sum
	}
	return top + math.Log(sum)
}

// logits are the last layer's outputs of the latest forward pass.
func (n *Network) logits() []float64 { return n.layers[len(n.layers)-1].act }

// LossGrad returns the mean cross-entropy of the batch, in nats, and writes its
// gradient with respect to the parameters to grad, which has the length of
// Params. Rows of x have the input's size, labels are class numbers.
func (n *Network) LossGrad(x [][]float64, y []int, grad []float64) (float64, error) {
	if err := n.check(x, y); err != nil {
		return 0, err
	}
	if len(grad) != len(n.params) {
		return 0, fmt.Errorf("mlp: room for %d gradients: want %d", len(grad), len(n.params))
	}
	clear(grad)
	loss := 0.0
	scale := 1 / float64(len(x))
	for s, row := range x {
		logSum := n.forward(row)
		loss += (logSum - n.logits()[y[s]]) * scale
		n.backward(row, y[s], scale, grad)
	}
	return loss, nil
}

// backward adds one sample's share of the gradient to grad.
func (n *Network) backward(x []float64, label int, scale float64, grad []float64) {
	out := n.delta[0][:len(n.probs)]
	for o, p := range n.probs {
		out[o] = p * scale
	}
	out[label] -= scale

	spare := n.delta[1]
	for k := len(n.layers) - 1; k >= 0; k-- {
		l := &n.layers[k]
		in := x
		if k > 0 {
			in = n.layers[k-1].act
		}
		gw := grad[l.offset : l.offset+l.in*l.out]
		gb := grad[l.offset+l.in*l.out : l.offset+l.in*l.out+l.out]
		back := spare[:l.in]
		clear(back)
		for o, d := range out {
			gb[o] += d
			w := l.w[o*l.in : (o+1)*l.in]
			g := gw[o*l.in : (o+1)*l.in]
			for i, v := range in {
				g[i] += d * v
				back[i] += d * w[i]
			}
		}
		if k == 0 {
			return
		}
		for i, a := range in {
			back[i] *= 1 - a*a // the derivative of tanh
		}
		spare = out[:cap(out)]
		out = back
	}
}

// Probabilities returns the class probabilities of one sample; they add up to 1.
func (n *Network) Probabilities(x []float64) ([]float64, error) {
	if err := n.check([][]float64{x}, []int{0}); err != nil {
		return nil, err
	}
	n.forward(x)
	return slices.Clone(n.probs), nil
}

// Evaluation is how well a network does on a set of samples.
type Evaluation struct {
	Loss    float64 // mean cross-entropy, in nats
	Correct int     // samples whose most probable class is the right one
	Total   int
}

// Accuracy returns the share of correct samples, from 0 to 1.
func (e Evaluation) Accuracy() float64 { return float64(e.Correct) / float64(e.Total) }

// Evaluate measures the network on a set of samples without changing it.
func (n *Network) Evaluate(x [][]float64, y []int) (Evaluation, error) {
	if err := n.check(x, y); err != nil {
		return Evaluation{}, err
	}
	e := Evaluation{Total: len(x)}
	for s, row := range x {
		logSum := n.forward(row)
		e.Loss += (logSum - n.logits()[y[s]]) / float64(len(x))
		best := 0
		for o, p := range n.probs {
			if p > n.probs[best] {
				best = o
			}
		}
		if best == y[s] {
			e.Correct++
		}
	}
	return e, nil
}

func (n *Network) check(x [][]float64, y []int) error {
	if len(x) == 0 || len(x) != len(y) {
		return fmt.Errorf("mlp: %d samples and %d labels: want the same number, at least 1", len(x), len(y))
	}
	for s, row := range x {
		if len(row) != n.sizes[0] {
			return fmt.Errorf("mlp: sample %d has %d values: want %d", s, len(row), n.sizes[0])
		}
		if y[s] < 0 || y[s] >= len(n.probs) {
			return fmt.Errorf("mlp: sample %d has label %d: want 0 to %d", s, y[s], len(n.probs)-1)
		}
	}
	return nil
}
