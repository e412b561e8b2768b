package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"strconv"
)

// maxAnswer bounds, in bytes, what a stranger's answer can make the server do.
const maxAnswer = 256

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
	if !constant.Compare(value, token.EQL, constant.MakeInt64(int64(t.Target))) {
		return "it makes " + value.ExactString(), false
	}
	return "", true
}

// evaluate reads an expression of whole numbers, + - * / and parentheses, and
// returns its value and the numbers in it.
func evaluate(text string) (constant.Value, []int, error) {
	if len(text) > maxAnswer {
		return nil, nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	expression, err := parser.ParseExpr(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the answer is no expression: %w", err)
	}
	var numbers []int
	value, err := valueOf(expression, &numbers)
	return value, numbers, err
}

func valueOf(e ast.Expr, numbers *[]int) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return valueOf(e.X, numbers)
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		if err != nil {
			return nil, fmt.Errorf("the answer has %s where only whole numbers can be", e.Value)
		}
		*numbers = append(*numbers, n)
		return constant.MakeInt64(int64(n)), nil
	case *ast.BinaryExpr:
		x, err := valueOf(e.X, numbers)
		if err != nil {
			return nil, err
		}
		y, err := valueOf(e.Y, numbers)
		if err != nil {
			return nil, err
		}
		switch e.Op {
		case token.QUO:
			if constant.Sign(y) == 0 {
				return nil, errors.New("the answer divides by 0")
			}
			fallthrough
		case token.ADD, token.SUB, token.MUL:
			return constant.BinaryOp(x, e.Op, y), nil
		}
		return nil, fmt.Errorf("the answer has a %v: want + - * / only", e.Op)
	}
	return nil, errors.New("the answer has more than whole numbers, + - * / and parentheses")
}
