package main

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// verify tells whether the answer makes the target from the numbers. It shares
// nothing with the solver: it reads the text, exactly, in fractions. A wrong
// answer comes with the reason.
func verify(t task, answer string) (reason string, ok bool) {
	value, used, err := evaluate(answer)
	if err != nil {
		return err.Error(), false
	}
	left := make(map[int]int)
	for _, n := range t.Numbers {
		left[n]++
	}
	for _, n := range used {
		if left[n]--; left[n] < 0 {
			return fmt.Sprintf("%d is used more often than it is given", n), false
		}
	}
	if value.Cmp(new(big.Rat).SetInt64(int64(t.Target))) != 0 {
		return "it makes " + value.RatString(), false
	}
	return "", true
}

// Bounds on what a stranger's answer can make the server do.
const (
	maxAnswer  = 256
	maxNesting = 32
	maxDigits  = 9
)

// evaluate reads an expression of whole numbers, + - * / and parentheses, and
// returns its value and the numbers in it.
func evaluate(text string) (*big.Rat, []int, error) {
	if len(text) > maxAnswer {
		return nil, nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	r := reader{rest: text}
	value, err := r.sum(0)
	if err == nil && r.peek() != 0 {
		err = r.unexpected()
	}
	if err != nil {
		return nil, nil, err
	}
	return value, r.numbers, nil
}

type reader struct {
	rest    string
	numbers []int
}

// peek returns the next byte that is no space, or 0.
func (r *reader) peek() byte {
	r.rest = strings.TrimLeft(r.rest, " ")
	if r.rest == "" {
		return 0
	}
	return r.rest[0]
}

func (r *reader) unexpected() error {
	if r.rest == "" {
		return errors.New("the answer ends too early")
	}
	return fmt.Errorf("the answer has %q where it cannot be", r.rest[0])
}

func (r *reader) sum(depth int) (*big.Rat, error) {
	value, err := r.product(depth)
	for err == nil {
		op := r.peek()
		if op != '+' && op != '-' {
			break
		}
		r.rest = r.rest[1:]
		var next *big.Rat
		if next, err = r.product(depth); err != nil {
			break
		}
		if op == '+' {
			value.Add(value, next)
		} else {
			value.Sub(value, next)
		}
	}
	return value, err
}

func (r *reader) product(depth int) (*big.Rat, error) {
	value, err := r.factor(depth)
	for err == nil {
		op := r.peek()
		if op != '*' && op != '/' {
			break
		}
		r.rest = r.rest[1:]
		var next *big.Rat
		if next, err = r.factor(depth); err != nil {
			break
		}
		switch {
		case op == '*':
			value.Mul(value, next)
		case next.Sign() == 0:
			err = errors.New("the answer divides by 0")
		default:
			value.Quo(value, next)
		}
	}
	return value, err
}

func (r *reader) factor(depth int) (*big.Rat, error) {
	if r.peek() == '(' {
		if depth == maxNesting {
			return nil, fmt.Errorf("the answer has more than %d parentheses inside each other", maxNesting)
		}
		r.rest = r.rest[1:]
		value, err := r.sum(depth + 1)
		if err == nil && r.peek() != ')' {
			err = r.unexpected()
		}
		if err != nil {
			return nil, err
		}
		r.rest = r.rest[1:]
		return value, nil
	}
	end := 0
	for end < len(r.rest) && r.rest[end] >= '0' && r.rest[end] <= '9' {
		end++
	}
	if end == 0 {
		return nil, r.unexpected()
	}
	if end > maxDigits {
		return nil, fmt.Errorf("the answer has a number of more than %d digits", maxDigits)
	}
	n, err := strconv.Atoi(r.rest[:end])
	if err != nil {
		return nil, err
	}
	r.rest = r.rest[end:]
	r.numbers = append(r.numbers, n)
	return new(big.Rat).SetInt64(int64(n)), nil
}
