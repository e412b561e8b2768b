package mlp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func network(t *testing.T, sizes ...int) *Network {
	t.Helper()
	n, err := New(seeded(), sizes...)
	require.NoError(t, err)
	return n
}

// batch draws samples with both signs and varied scale.
func batch(samples, features, classes int) (x [][]float64, y []int) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range samples {
		row := make([]float64, features)
		for i := range row {
			row[i] = rng.NormFloat64()
		}
		x, y = append(x, row), append(y, rng.IntN(classes))
	}
	return x, y
}

// The gradient is that of the loss: every parameter against central differences.
func TestGradientMatchesFiniteDifferences(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{{4, 3}, {4, 7, 3}, {4, 8, 6, 3}, {3, 2, 9, 5, 4}} {
		n := network(t, sizes...)
		// Biases start at zero; move them so that they are tested off zero too.
		rng := seeded()
		for i := range n.params {
			n.params[i] += 0.3 * rng.NormFloat64()
		}
		x, y := batch(9, sizes[0], sizes[len(sizes)-1])
		grad := make([]float64, len(n.params))
		_, err := n.LossGrad(x, y, grad)
		require.NoError(t, err)

		const h = 1e-5
		for i, p := range slices.Clone(n.params) {
			n.params[i] = p + h
			up, err := n.Evaluate(x, y)
			require.NoError(t, err)
			n.params[i] = p - h
			down, err := n.Evaluate(x, y)
			require.NoError(t, err)
			n.params[i] = p
			numeric := (up.Loss - down.Loss) / (2 * h)
			if diff := math.Abs(numeric - grad[i]); diff > 1e-7*max(1, math.Abs(numeric)) {
				t.Fatalf("layers %v, parameter %d: gradient %v, finite differences %v", sizes, i, grad[i], numeric)
			}
		}
	}
}

// The gradient of a batch is the mean of its halves' gradients, which is what
// training in parallel on shares of a batch relies on.
func TestGradientOfABatchIsTheMeanOfItsShares(t *testing.T) {
	t.Parallel()
	n := network(t, 4, 6, 3)
	x, y := batch(10, 4, 3)
	whole, a, b := make([]float64, len(n.params)), make([]float64, len(n.params)), make([]float64, len(n.params))
	loss, err := n.LossGrad(x, y, whole)
	require.NoError(t, err)
	lossA, err := n.LossGrad(x[:5], y[:5], a)
	require.NoError(t, err)
	lossB, err := n.LossGrad(x[5:], y[5:], b)
	require.NoError(t, err)
	assert.InDelta(t, loss, (lossA+lossB)/2, 1e-12)
	for i := range whole {
		assert.InDelta(t, whole[i], (a[i]+b[i])/2, 1e-12)
	}
}

func TestLossAgreesWithProbabilitiesAndSurvivesLargeLogits(t *testing.T) {
	t.Parallel()
	n := network(t, 4, 6, 3)
	x, y := batch(5, 4, 3)
	want := 0.0
	for i, row := range x {
		p, err := n.Probabilities(row)
		require.NoError(t, err)
		assert.InDelta(t, 1, p[0]+p[1]+p[2], 1e-12)
		want -= math.Log(p[y[i]]) / float64(len(x))
	}
	e, err := n.Evaluate(x, y)
	require.NoError(t, err)
	assert.InDelta(t, want, e.Loss, 1e-12)
	grad := make([]float64, len(n.params))
	loss, err := n.LossGrad(x, y, grad)
	require.NoError(t, err)
	assert.InDelta(t, want, loss, 1e-12)

	for i := range n.params {
		n.params[i] *= 1e4
	}
	e, err = n.Evaluate(x, y)
	require.NoError(t, err)
	assert.False(t, math.IsNaN(e.Loss) || math.IsInf(e.Loss, 0), "loss %v", e.Loss)
}

// XOR has no linear solution: learning it needs the hidden layer and its gradient.
func TestAdamLearnsXOR(t *testing.T) {
	t.Parallel()
	n := network(t, 2, 8, 2)
	adam, err := NewAdam(0.05, len(n.Params()))
	require.NoError(t, err)
	x := [][]float64{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}}
	y := []int{0, 1, 1, 0}
	grad := make([]float64, len(n.Params()))
	before, err := n.Evaluate(x, y)
	require.NoError(t, err)
	for range 300 {
		_, err := n.LossGrad(x, y, grad)
		require.NoError(t, err)
		require.NoError(t, adam.Update(n.Params(), grad))
	}
	after, err := n.Evaluate(x, y)
	require.NoError(t, err)
	assert.Equal(t, 1.0, after.Accuracy())
	assert.Less(t, after.Loss, 0.05)
	assert.Greater(t, before.Loss, after.Loss)
}

// The first update of Adam moves every parameter by the learning rate, against
// the sign of its gradient; the second follows by hand from the paper's formulas.
func TestAdamFollowsThePaper(t *testing.T) {
	t.Parallel()
	adam, err := NewAdam(0.1, 2)
	require.NoError(t, err)
	params := []float64{1, -2}
	require.NoError(t, adam.Update(params, []float64{4, -0.5}))
	assert.InDeltaSlice(t, []float64{0.9, -1.9}, params, 1e-7)

	require.NoError(t, adam.Update(params, []float64{0, 0}))
	m := 0.9 * 0.1 * 4 / (1 - 0.9*0.9)
	v := 0.999 * 0.001 * 16 / (1 - 0.999*0.999)
	assert.InDelta(t, 0.9-0.1*m/(math.Sqrt(v)+1e-8), params[0], 1e-7)
	assert.Equal(t, 2, adam.Steps)
}

func TestSameSeedSameNetwork(t *testing.T) {
	t.Parallel()
	a, b := network(t, 4, 5, 3), network(t, 4, 5, 3)
	assert.Equal(t, a.Params(), b.Params())
	c, err := New(rand.New(rand.NewPCG(9, 9)), 4, 5, 3)
	require.NoError(t, err)
	assert.NotEqual(t, a.Params(), c.Params())
	assert.Equal(t, []int{4, 5, 3}, a.Sizes())
	assert.Len(t, a.Params(), 5*5+6*3)
}

func TestSetParamsCopies(t *testing.T) {
	t.Parallel()
	n := network(t, 2, 2)
	params := []float64{1, 2, 3, 4, 5, 6}
	require.NoError(t, n.SetParams(params))
	params[0] = 9
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, n.Params())
	// The layers see them: logits are w·x + b.
	_, err := n.Probabilities([]float64{1, 1})
	require.NoError(t, err)
	assert.Equal(t, []float64{1 + 2 + 5, 3 + 4 + 6}, n.logits())

	assert.ErrorContains(t, n.SetParams(params[:5]), "5 parameters")
	assert.ErrorContains(t, n.SetParams([]float64{1, 2, math.NaN(), 4, 5, 6}), "parameter 2 is NaN")
	assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, n.Params(), "a refused set changes nothing")
}

func TestBadInputIsNamed(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{nil, {4}, {4, 0, 3}, {-1, 3}, {4, 1}} {
		_, err := New(seeded(), sizes...)
		assert.ErrorContains(t, err, "layer sizes", "%v", sizes)
	}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err := NewAdam(rate, 1)
		assert.ErrorContains(t, err, "learning rate", "%v", rate)
	}

	n := network(t, 2, 3)
	grad := make([]float64, len(n.Params()))
	for _, test := range []struct {
		x    [][]float64
		y    []int
		want string
	}{
		{nil, nil, "0 samples"},
		{[][]float64{{1, 2}}, []int{0, 1}, "1 samples and 2 labels"},
		{[][]float64{{1, 2, 3}}, []int{0}, "sample 0 has 3 values: want 2"},
		{[][]float64{{1, 2}}, []int{3}, "label 3: want 0 to 2"},
		{[][]float64{{1, 2}}, []int{-1}, "label -1"},
	} {
		_, err := n.LossGrad(test.x, test.y, grad)
		assert.ErrorContains(t, err, test.want)
		_, err = n.Evaluate(test.x, test.y)
		assert.ErrorContains(t, err, test.want)
	}
	_, err := n.Probabilities([]float64{1})
	assert.ErrorContains(t, err, "1 values")
	_, err = n.LossGrad([][]float64{{1, 2}}, []int{0}, grad[:3])
	assert.ErrorContains(t, err, "3 gradients")
	adam, err := NewAdam(0.1, 2)
	require.NoError(t, err)
	assert.ErrorContains(t, adam.Update(make([]float64, 3), make([]float64, 2)), "for 2 parameters")
	assert.Zero(t, adam.Steps)
}

func TestTrainingStepAllocatesNothing(t *testing.T) {
	n := network(t, 4, 16, 3)
	adam, err := NewAdam(0.01, len(n.Params()))
	require.NoError(t, err)
	x, y := batch(16, 4, 3)
	grad := make([]float64, len(n.Params()))
	allocs := testing.AllocsPerRun(20, func() {
		if _, err := n.LossGrad(x, y, grad); err != nil {
			t.Fatal(err)
		}
		if err := adam.Update(n.Params(), grad); err != nil {
			t.Fatal(err)
		}
	})
	assert.Zero(t, allocs)
}

func BenchmarkTrainingStep(b *testing.B) {
	n, err := New(seeded(), 4, 16, 3)
	if err != nil {
		b.Fatal(err)
	}
	adam, err := NewAdam(0.01, len(n.Params()))
	if err != nil {
		b.Fatal(err)
	}
	x, y := batch(16, 4, 3)
	grad := make([]float64, len(n.Params()))
	for b.Loop() {
		if _, err := n.LossGrad(x, y, grad); err != nil {
			b.Fatal(err)
		}
		if err := adam.Update(n.Params(), grad); err != nil {
			b.Fatal(err)
		}
	}
}
