package mlp

import (
	"fmt"
	"math"
)

// Adam is the optimizer of Kingma and Ba (2015), with their defaults for
// everything but the learning rate. Its exported fields are its whole state:
// saved and restored, training continues exactly. One goroutine at a time.
type Adam struct {
	LearningRate float64   `json:"learning_rate"`
	Steps        int       `json:"steps"`  // updates made
	First        []float64 `json:"first"`  // running mean of the gradient
	Second       []float64 `json:"second"` // running mean of its square
}

const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

// NewAdam makes an optimizer for that many parameters.
func NewAdam(learningRate float64, params int) (*Adam, error) {
	if !(learningRate > 0) || math.IsInf(learningRate, 0) {
		return nil, fmt.Errorf("mlp: learning rate %v: want a finite number above 0", learningRate)
	}
	return &Adam{
		LearningRate: learningRate,
		First:        make([]float64, params),
		Second:       make([]float64, params),
	}, nil
}

// Update moves params one step against grad. Both have the length the optimizer
// was made for.
func (a *Adam) Update(params, grad []float64) error {
	if len(params) != len(a.First) || len(grad) != len(a.First) || len(a.Second) != len(a.First) {
		return fmt.Errorf("mlp: optimizer for %d parameters was given %d with %d gradients", len(a.First), len(params), len(grad))
	}
	a.Steps++
	// The running means start at zero; dividing by these takes that bias out.
	first := 1 - math.Pow(beta1, float64(a.Steps))
	second := 1 - math.Pow(beta2, float64(a.Steps))
	for i, g := range grad {
		a.First[i] = beta1*a.First[i] + (1-beta1)*g
		a.Second[i] = beta2*a.Second[i] + (1-beta2)*g*g
		params[i] -= a.LearningRate * (a.First[i] / first) / (math.Sqrt(a.Second[i]/second) + epsilon)
	}
	return nil
}
