//go:build !lens_noop

package lens_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/nemo-lens/lens"
)

// A program with span groups of its own can have a flag that says what its
// environment would make lens do.
func ExampleCheck() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups = true, "none", "job,step"
	var report lens.CheckReport = lens.Check(context.Background(), cfg, 0, lens.WithRank(0, 4))
	fmt.Println("groups:", report.Groups)
	fmt.Println("ranks that export:", report.ExportingRanks)
	show := func(s lens.SignalCheck) { fmt.Println(s.Signal, s.Enabled, s.Exporter) }
	for _, s := range report.Signals {
		show(s)
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
	given := slices.DeleteFunc(cfg.Settings(), func(s lens.Setting) bool { return s.Source == "default" })
	for _, s := range given {
		fmt.Println(s.Name, s.Value, s.Source)
	}
	// Output: span_groups "job,step" code
}
