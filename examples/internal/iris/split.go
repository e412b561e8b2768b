package iris

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// splitStream keeps the draws of Split apart from those that a caller makes
// from the same seed.
const splitStream = 0x53504c49

// Split divides the flowers at random into a part to train on and a part held
// out, keeping the share of each species: of every class, the held-out part gets
// heldOut (above 0, below 1) of the flowers, rounded to the nearest whole number.
// The same seed always gives the same two parts. They share no flower, and share
// their rows with d.
func (d Dataset) Split(seed uint64, heldOut float64) (train, test Dataset, err error) {
	if !(heldOut > 0 && heldOut < 1) {
		return train, test, fmt.Errorf("iris: held-out share %v: want a number above 0 and below 1", heldOut)
	}
	byClass := make([][]int, len(species))
	for i, y := range d.Y {
		byClass[y] = append(byClass[y], i)
	}
	rng := rand.New(rand.NewPCG(seed, splitStream))
	for label, rows := range byClass {
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		cut := int(math.Round(heldOut * float64(len(rows))))
		for i, row := range rows {
			part := &train
			if i < cut {
				part = &test
			}
			part.X = append(part.X, d.X[row])
			part.Y = append(part.Y, label)
		}
	}
	return train, test, nil
}

// Scaler moves and stretches each measurement so that it had mean 0 and standard
// deviation 1 in the data it was fitted to.
type Scaler struct {
	Mean [Features]float64
	Std  [Features]float64
}

// FitScaler measures d. The standard deviation is that of a sample (n-1). Fit it
// to the training part only: the held-out part must stay unseen.
func FitScaler(d Dataset) (Scaler, error) {
	var s Scaler
	if d.Len() < 2 {
		return s, fmt.Errorf("iris: %d flowers to scale by: want at least 2", d.Len())
	}
	n := float64(d.Len())
	for j := range Features {
		for _, x := range d.X {
			s.Mean[j] += x[j] / n
		}
		for _, x := range d.X {
			s.Std[j] += (x[j] - s.Mean[j]) * (x[j] - s.Mean[j]) / (n - 1)
		}
		s.Std[j] = math.Sqrt(s.Std[j])
		if s.Std[j] <= 1e-12*math.Abs(s.Mean[j]) { // rounding, not variation
			return s, fmt.Errorf("iris: %s is the same in all %d flowers, so it cannot be scaled", columns[j], d.Len())
		}
	}
	return s, nil
}

// Apply returns d with scaled measurements; d is left alone.
func (s Scaler) Apply(d Dataset) Dataset {
	out := Dataset{X: make([][]float64, d.Len()), Y: append([]int(nil), d.Y...)}
	for i, x := range d.X {
		row := make([]float64, Features)
		for j := range row {
			row[j] = (x[j] - s.Mean[j]) / s.Std[j]
		}
		out.X[i] = row
	}
	return out
}
