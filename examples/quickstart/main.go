// Command quickstart is the least that a program needs: set up from the
// environment, trace a function, shut down.
package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
)

func main() {
	ctx := context.Background()
	cfg, err := lens.FromEnv("", "", nil)
	exitOn(err, 2)
	telemetry, err := lens.SetupTelemetry(ctx, cfg)
	exitOn(err, 2)
	for _, x := range []float64{9, -1} {
		root, err := squareRoot(ctx, x)
		fmt.Fprintf(os.Stderr, "squareRoot(%v) = %v, error: %v\n", x, root, err)
	}
	exitOn(telemetry.Shutdown(ctx), 1) // says how many spans were lost, if any
}

// squareRoot is one span. The error that it returns is recorded on the span.
func squareRoot(ctx context.Context, x float64) (root float64, err error) {
	_, span := lens.ManagedSpan(ctx, lens.Evaluate, "quickstart.square_root", attribute.Float64("x", x))
	defer lens.End(span, &err)
	if x < 0 {
		return 0, fmt.Errorf("x=%v: want a number of at least 0", x)
	}
	return math.Sqrt(x), nil
}

// exitOn ends the program on an error. os.Exit runs no deferred call, which is
// why main shuts down in its last line and not in a defer.
func exitOn(err error, code int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(code)
	}
}
