package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
)

// beamWidth is how many positions the solver follows at once. It is what makes
// the model fallible: with the whole tree it would solve every task.
const beamWidth = 3

// solve looks for an expression with the value of the target, by a beam search
// that prefers positions near the target, shaken a little by the seed. It
// returns the nearest expression that it met. Equal arguments give equal
// results.
func solve(t task, seed uint64) (expression string, value int) {
	rng := rand.New(rand.NewPCG(seed, uint64(t.Target)))
	var start position
	for _, n := range t.Numbers {
		start.terms = append(start.terms, &term{value: n})
	}
	var best *term
	better := func(x *term) bool { return best == nil || distance(x, t.Target) < distance(best, t.Target) }
	for _, x := range start.terms {
		if better(x) {
			best = x
		}
	}
	beam := []position{start}
	for range len(t.Numbers) - 1 {
		var next []position
		for _, p := range beam {
			next = p.moves(next)
		}
		for i := range next {
			p := &next[i]
			made := p.terms[len(p.terms)-1]
			if better(made) {
				best = made
			}
			near := distance(made, t.Target)
			for _, x := range p.terms {
				near = min(near, distance(x, t.Target))
			}
			p.score = float64(near) * (1 + rng.Float64()/2)
		}
		if best.value == t.Target {
			break
		}
		slices.SortStableFunc(next, func(a, b position) int { return cmp.Compare(a.score, b.score) })
		beam = next[:min(beamWidth, len(next))]
	}
	return best.String(), best.value
}

// position is what is left to work with.
type position struct {
	terms []*term
	score float64
}

// moves appends every position that one operation leads to. As in the game,
// intermediate results are whole numbers above 0.
func (p position) moves(to []position) []position {
	for i, a := range p.terms {
		for j, b := range p.terms {
			if i == j || a.value < b.value || a.value == b.value && i > j {
				continue // each pair once, the larger first
			}
			for _, op := range []byte("+-*/") {
				made, ok := combine(op, a, b)
				if !ok {
					continue
				}
				terms := make([]*term, 0, len(p.terms)-1)
				for k, x := range p.terms {
					if k != i && k != j {
						terms = append(terms, x)
					}
				}
				to = append(to, position{terms: append(terms, made)})
			}
		}
	}
	return to
}

// term is a number, or an operation on two terms.
type term struct {
	value       int
	op          byte // 0: a number
	left, right *term
}

// maxValue keeps products within an int.
const maxValue = 1 << 30

func combine(op byte, a, b *term) (*term, bool) {
	t := &term{op: op, left: a, right: b}
	switch op {
	case '+':
		t.value = a.value + b.value
	case '-':
		t.value = a.value - b.value
	case '*':
		if b.value == 1 || a.value > maxValue/b.value {
			return nil, false
		}
		t.value = a.value * b.value
	case '/':
		if b.value <= 1 || a.value%b.value != 0 {
			return nil, false
		}
		t.value = a.value / b.value
	}
	return t, t.value > 0
}

func distance(t *term, target int) int { return max(t.value-target, target-t.value) }

func (t *term) String() string { return string(t.append(nil)) }

func (t *term) append(to []byte) []byte {
	if t.op == 0 {
		return strconv.AppendInt(to, int64(t.value), 10)
	}
	to = append(to, '(')
	to = t.left.append(to)
	to = append(to, ' ', t.op, ' ')
	to = t.right.append(to)
	return append(to, ')')
}
