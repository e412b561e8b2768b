//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nemo-lens/lens"
)

const childVariable = "LENS_FAILURE_MODES_CHILD"

// children are the programs that the tests run as processes of their own, each in the
// file of its tests.
var children = map[string]func(){}

// program registers a child program and returns its name.
func program(name string, body func()) string {
	children[name] = body
	return name
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		body := children[name]
		if body == nil {
			fmt.Fprintf(os.Stderr, "no child program %q\n", name)
			os.Exit(99)
		}
		body()
		return
	}
	// OTel's default provider hands its tracers to the first one that is ever
	// installed, for good: lens's, in whatever order the tests run.
	first := lens.DefaultConfig()
	first.Enabled, first.Exporter = true, "none"
	h, err := lens.SetupTelemetry(context.Background(), first, lens.WithLogger(slog.New(slog.DiscardHandler)),
		lens.WithExportStrategy(func(lens.Config, int, int) (bool, error) { return true, nil }))
	if err != nil {
		panic(err)
	}
	if err := h.Shutdown(context.Background()); err != nil {
		panic(err)
	}
	// What the environment of the tests says about telemetry is not meant for them.
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); telemetryVariable(name) {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	goleak.VerifyTestMain(m)
}

// telemetryVariable reports whether the variable can change what a child or a test does.
func telemetryVariable(name string) bool {
	for _, prefix := range []string{
		"NEMO_", "OTEL_", "WANDB_", "SLURM_", "OMPI_", "PMI_", "PMIX_", "TRACE", "BAGGAGE", "traceparent", "tracestate", "baggage",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch strings.ToUpper(name) {
	case "RANK", "LOCAL_RANK", "WORLD_SIZE", "JOB_COMPLETION_INDEX", "DEPLOYMENT_ENV", "ENVIRONMENT",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY":
		return true
	}
	return false
}
