package lens_test

import (
	"fmt"

	"github.com/nemo-lens/lens"
)

// The vocabulary of Megatron: the base groups and six of its own, with its own
// "default" and "per_step".
func ExampleGroupClass_Extend() {
	megatron := lens.BaseGroups
	megatron, err := megatron.Extend("megatron",
		[]lens.SpanGroup{"microbatch", "communication", "activation_offload", "data_loading", "inference", "layer"},
		map[string][]lens.SpanGroup{
			"default": {lens.Job, lens.Checkpoint, lens.Evaluate, "inference"},
			"per_step": {lens.Job, lens.Checkpoint, lens.Evaluate, lens.ModelInit, lens.LoadCheckpoint, lens.Step,
				lens.ForwardBackward, lens.Optimizer, "communication", "data_loading", "inference"},
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, _ := megatron.Resolve("default,layer")
	fmt.Println(set)
	_, err = megatron.Resolve("per_stpe")
	fmt.Println(err != nil)
	// Output:
	// checkpoint,evaluate,inference,job,layer
	// true
}

func ExampleRedactValue() {
	fmt.Println(lens.RedactValue("password", "hunter2"), lens.RedactValue("iteration", "42"))
	// Output: [REDACTED] 42
}
