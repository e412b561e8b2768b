package lens_test

import (
	"fmt"

	"github.com/nemo-lens/lens"
)

// Pipeline stages differ, ranks within a stage do not: one exporter for each
// stage of 8 ranks.
func ExampleRegisterExportStrategy() {
	perStage := func(_ lens.Config, rank, _ int) (bool, error) { return rank%8 == 0, nil }
	if err := lens.RegisterExportStrategy("first_rank_per_stage", perStage); err != nil {
		fmt.Println(err)
	}
	defer lens.UnregisterExportStrategy("first_rank_per_stage")

	// Operators can now choose it: NEMO_LENS_EXPORT_STRATEGY=first_rank_per_stage.
	for _, name := range lens.RegisteredExportStrategies() {
		fmt.Println(name)
	}
	// Output:
	// all_ranks
	// first_rank_per_node
	// first_rank_per_stage
	// sampled
	// single_rank
}

func ExampleUnregisterExportStrategy() {
	fmt.Println(lens.UnregisterExportStrategy("all_ranks"))
	// Output: lens: export strategy "all_ranks" is built-in and stays registered
}
