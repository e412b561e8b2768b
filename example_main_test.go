//go:build !lens_noop

package lens_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
)

// Main is the whole of func main. It exits the process with the status that
// run's error, or a signal, calls for, and loses no span on the way.
func ExampleMain() {
	cfg, err := lens.FromEnv("", "", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	lens.Main(cfg, func(ctx context.Context) error {
		ctx, span := lens.ManagedSpan(ctx, lens.Job, "train")
		defer lens.End(span, nil)
		forward(ctx)
		fmt.Println("trained")
		return nil
	})
}

// ExampleMain ends its process, so its output is checked from outside.
func TestExampleMainRuns(t *testing.T) {
	const inside = "LENS_TEST_EXAMPLE_MAIN"
	if os.Getenv(inside) != "" {
		ExampleMain()
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestExampleMainRuns$")
	cmd.Env = append(os.Environ(), inside+"=1", "NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=none")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "trained\n", string(out))
}
