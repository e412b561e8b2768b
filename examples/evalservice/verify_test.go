package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	game := task{Numbers: []int{25, 5, 2, 2}, Target: 102}
	for _, c := range []struct {
		answer string
		reason string // empty: right
	}{
		{"(25 * 2 * 2) + 5 - 2", "2 is used more often than it is given"},
		{"25*(2+2)+2", "2 is used more often than it is given"},
		{"(25 + 25) * 2 + 2", "25 is used more often than it is given"},
		{"(25 * 5 - 2) / 2", "it makes 123/2"},
		{"25 * 2 * 2", "it makes 100"},
		{"100 + 2", "100 is used more often than it is given"},
		{"", "the answer ends too early"},
		{"25 +", "the answer ends too early"},
		{"(25", "the answer ends too early"},
		{"25)", "the answer has ')' where it cannot be"},
		{"25 2", "the answer has '2' where it cannot be"},
		{"-25", "the answer has '-' where it cannot be"},
		{"25 ^ 2", "the answer has '^' where it cannot be"},
		{"25 / (2 - 2)", "the answer divides by 0"},
		{"1234567890", "the answer has a number of more than 9 digits"},
		{strings.Repeat("(", 40) + "1", "the answer has more than 32 parentheses inside each other"},
		{strings.Repeat("1+", 200) + "1", "the answer is longer than 256 bytes"},
	} {
		reason, ok := verify(game, c.answer)
		assert.False(t, ok, c.answer)
		assert.Equal(t, c.reason, reason, c.answer)
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
		require.NotNil(t, value)
		require.NotEmpty(t, numbers)
		again, _, err := evaluate("(" + text + ")")
		if err == nil { // unless that made it too long or too deep
			require.Zero(t, value.Cmp(again))
		}
	})
}
