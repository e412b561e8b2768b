package lens_test

import (
	"fmt"

	"github.com/nemo-lens/lens"
)

func ExampleRedactValue() {
	fmt.Println(lens.RedactValue("password", "hunter2"), lens.RedactValue("iteration", "42"))
	// Keys given here replace the default ones.
	fmt.Println(lens.RedactValue("answer", "7", "answer", "reasoning"), lens.RedactValue("text", "shown", "answer"))
	// Output:
	// [REDACTED] 42
	// [REDACTED] shown
}

func ExampleDefaultRedactKeys() {
	fmt.Println(lens.DefaultRedactKeys.Keys())
	// Keys are compared exactly.
	fmt.Println(lens.DefaultRedactKeys.Has("password"), lens.DefaultRedactKeys.Has("user.password"))
	// Output:
	// [input_text key output_text password prompt secret text token]
	// true false
}

// Keys that are given replace the default ones; to have both, give both.
func ExampleRedactKeys() {
	keys := append(lens.DefaultRedactKeys.Keys(), "answer")
	fmt.Println(lens.RedactValue("answer", "7", keys...), lens.RedactValue("token", "abc", keys...), lens.RedactValue("iteration", "42", keys...))
	// Output: [REDACTED] [REDACTED] 42
}
