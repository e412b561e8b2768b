//go:build !lens_noop

package lens_test

import (
	"context"
	"fmt"

	"github.com/nemo-lens/lens"
)

// A program with span groups of its own can have a flag that says what its
// environment would make lens do.
func ExampleCheck() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups = true, "none", "job,step"
	report := lens.Check(context.Background(), cfg, 0, lens.WithRank(0, 4))
	fmt.Println("groups:", report.Groups)
	fmt.Println("ranks that export:", report.ExportingRanks)
	for _, s := range report.Signals {
		fmt.Println(s.Signal, s.Enabled, s.Exporter)
	}
	fmt.Println("problems:", report.Problems)
	// Output:
	// groups: job,step
	// ranks that export: [3]
	// traces true none
	// metrics true none
	// logs false none
	// problems: []
}

func ExampleConfig_Settings() {
	cfg := lens.DefaultConfig()
	cfg.SpanGroups = "job,step"
	for _, s := range cfg.Settings() {
		if s.Source != "default" {
			fmt.Println(s.Name, s.Value, s.Source)
		}
	}
	// Output: span_groups "job,step" code
}
