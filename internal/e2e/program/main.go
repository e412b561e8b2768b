// Command program is a user's program for the end-to-end test. It is configured by its environment alone.
//
//	program tree       one small trace with every kind of attribute, an error and text that is not UTF-8
//	program bulk N     one trace of N spans with 10 kB each
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	cfg, err := lens.FromEnv("", "", nil)
	if err != nil {
		return err
	}
	telemetry, err := lens.SetupTelemetry(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, telemetry.Shutdown(ctx)) }()
	ctx = lens.ExtractEnv(ctx) // the trace of whoever started this program, if any

	switch {
	case len(args) == 1 && args[0] == "tree":
		return tree(ctx)
	case len(args) == 2 && args[0] == "bulk":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return bulk(ctx, n)
	default:
		return fmt.Errorf("arguments %q: want \"tree\" or \"bulk N\"", args)
	}
}

func tree(ctx context.Context) (err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Job, "program.job",
		attribute.String("title", "two words"),
		attribute.String("latin1", "caf\xe9"),
		attribute.Int("whole", 7),
		attribute.Float64("loss", math.NaN()),
		attribute.Bool("yes", true),
		attribute.StringSlice("list", []string{"a", "b"}),
		attribute.String("password", "hunter2"),
	)
	defer lens.End(span, &err)
	for i := range 2 {
		if err := step(ctx, i); err != nil {
			fmt.Fprintln(os.Stderr, "program: step", i, "failed:", err)
		}
	}
	return nil
}

func step(ctx context.Context, i int) (err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Step, "program.step", attribute.Int("dl.iteration", i))
	defer lens.End(span, &err)
	forward := lens.TraceErrFn(lens.ForwardBackward, "program.forward", func(context.Context) error { return nil })
	return errors.Join(forward(ctx), optimize(ctx, i))
}

func optimize(ctx context.Context, i int) (err error) {
	_, span := lens.ManagedSpan(ctx, lens.Optimizer, "program.optimizer")
	defer lens.End(span, &err)
	if i == 1 {
		return errors.New("gradient is not finite")
	}
	return nil
}

func bulk(ctx context.Context, n int) (err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Job, "program.job")
	defer lens.End(span, &err)
	text := strings.Repeat("x", 10_000)
	for i := range n {
		_, span := lens.ManagedSpan(ctx, lens.Checkpoint, "program.chunk",
			attribute.Int("number", i), attribute.String("content", text))
		lens.End(span, nil)
	}
	return nil
}
