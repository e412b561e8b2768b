//go:build !lens_noop

package lens_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nemo-lens/lens"
)

// A variable under the prefix that lens does not know is taken for a misspelt
// one, unless the application says that it is its own.
func ExampleDeclareVariables() {
	lens.DeclareVariables("TRAINER_DATA_PATH")
	defer setenv("TRAINER_ENABLED=on", "TRAINER_EXPORTER=none", "TRAINER_DATA_PATH=/data", "TRAINER_SPAN_GROUP=all")()

	cfg, err := lens.FromEnv("TRAINER", "", nil)
	if err != nil {
		fmt.Println(err)
	}
	var out bytes.Buffer
	h, err := lens.SetupTelemetry(context.Background(), cfg,
		lens.WithLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shutDown(h)
	for _, name := range []string{"TRAINER_DATA_PATH", "TRAINER_SPAN_GROUP ", "TRAINER_SPAN_GROUPS"} {
		fmt.Println(strings.TrimSpace(name), strings.Contains(out.String(), name))
	}
	// Output:
	// TRAINER_DATA_PATH false
	// TRAINER_SPAN_GROUP true
	// TRAINER_SPAN_GROUPS true
}
