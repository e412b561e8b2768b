// Command quickstart is the least that a program needs: set up from the
// environment, trace functions, shut down. It is the first program of the README.
package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
)

func main() { os.Exit(run()) } // os.Exit skips deferred calls, so they are in run

func run() int {
	ctx := context.Background()
	cfg, err := lens.FromEnv("", "", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	telemetry, err := lens.SetupTelemetry(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer func() {
		if err := telemetry.Shutdown(ctx); err != nil { // says how many spans were lost
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := train(ctx, 3); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// train is in the group Job, which the preset "default" switches on.
func train(ctx context.Context, steps int) (err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Job, "train", attribute.Int("steps", steps))
	defer lens.End(span, &err) // records the error that train returns, and panics
	for i := range steps {
		if err := step(ctx, i); err != nil { // with this ctx, spans of step are children
			return err
		}
	}
	return nil
}

// step is in the group Step: NEMO_LENS_SPAN_GROUPS=per_step switches it on.
func step(ctx context.Context, i int) (err error) {
	_, span := lens.ManagedSpan(ctx, lens.Step, "train.step", attribute.Int("dl.iteration", i))
	defer lens.End(span, &err)
	return nil
}
