package main

import (
	"go/constant"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	game := task{Numbers: []int{25, 5, 2, 2}, Target: 102}
	for _, c := range []struct{ answer, reason string }{
		{"(25 * 2 * 2) + 5 - 2", "2 is used more often than it is given"},
		{"25*(2+2)+2", "2 is used more often than it is given"},
		{"100 + 2", "100 is used more often than it is given"},
		{"(25 * 5 - 2) / 2", "it makes 123/2"},
		{"25 * 2 * 2", "it makes 100"},
		{"", "the answer is no expression"},
		{"25 +", "the answer is no expression"},
		{"(25", "the answer is no expression"},
		{"25)", "the answer is no expression"},
		{"25 2", "the answer is no expression"},
		{"-25", "the answer has more than whole numbers"},
		{"f(25)", "the answer has more than whole numbers"},
		{"25 ^ 2", "the answer has a ^: want + - * / only"},
		{"2.5 * 2", "the answer has 2.5 where only whole numbers can be"},
		{"0x19", "the answer has 0x19 where"},
		{"123456789012345678901", "the answer has 123456789012345678901 where"},
		{"25 / (2 - 2)", "the answer divides by 0"},
		{strings.Repeat("1+", 200) + "1", "the answer is longer than 256 bytes"},
	} {
		reason, ok := verify(game, c.answer)
		assert.False(t, ok, c.answer)
		assert.Contains(t, reason, c.reason, c.answer)
	}
	for answer, target := range map[string]int{
		"25 * 2 * 2 + 5": 105, " ( 25+5 )*2/2 ": 30, "25 - 5 - 2": 18, "25 / 5 / 2 * 2": 5, "5 / 2 * 2": 5, "2": 2, "((25))": 25,
	} {
		reason, ok := verify(task{Numbers: game.Numbers, Target: target}, answer)
		assert.True(t, ok, "%s: %s", answer, reason)
	}
}

// What is read has a value made of the numbers in the text, and reading ends.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"", "1", "(25 * 2) + 5", "1/0", "((1)", "7 - 9 * (3 / 4)", "1 + ", "12345678901", "(((((((((1)))))))))"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, numbers, err := evaluate(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, numbers)
		again, _, err := evaluate("(" + text + ")")
		if err == nil { // unless that made it too long, or a comment
			require.True(t, constant.Compare(value, token.EQL, again))
		}
	})
}
