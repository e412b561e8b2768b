package lens_test

import (
	"fmt"
	"time"

	"github.com/nemo-lens/lens"
)

// A job of 4096 processes with 20 spans in a step of half a second: what every
// strategy would send to the collector.
func ExampleEstimateLoad() {
	job := lens.Workload{WorldSize: 4096, RanksPerNode: 8, SpansPerStep: 20, StepTime: 500 * time.Millisecond}
	cfg := lens.DefaultConfig()
	for _, cfg.ExportStrategy = range []string{"single_rank", "first_rank_per_node", "all_ranks"} {
		load, err := lens.EstimateLoad(cfg, job)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(cfg.ExportStrategy+":", load.String())
	}
	cfg.ExportStrategy, cfg.ExportSampleRate = "sampled", 0.01
	var load lens.Load
	load, _ = lens.EstimateLoad(cfg, job)
	fmt.Println("1 % of the ranks:", load.Exporters > 20 && load.Exporters < 65)
	// Output:
	// single_rank: 1 exporting processes, 40 spans/s
	// first_rank_per_node: 512 exporting processes, 2.048e+04 spans/s
	// all_ranks: 4096 exporting processes, 1.638e+05 spans/s
	// 1 % of the ranks: true
}
