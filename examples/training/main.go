// Command training trains a small neural network on the Iris data set and
// records what it does as spans.
//
// NEMO_LENS_ENABLED=1 switches telemetry on and NEMO_LENS_SPAN_GROUPS chooses the
// detail: default, per_step, all, or a list such as step,optimizer. At the end a
// table on standard error says where the time went, computed from the spans that
// were recorded. Standard output belongs to the console exporter
// (NEMO_LENS_EXPORTER=console) and stays empty otherwise.
//
// The exit code is 0 when the model was trained, 1 when it was not, and 2 when
// the command line or the environment is wrong. Telemetry that could not be
// delivered is reported and does not change the exit code: the training run is
// what matters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/nemo-lens/lens"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// os.Exit runs no deferred call, so everything that must be closed lives in run.
func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stderr)) }

// run is the whole program; it returns the exit code. Everything is shut down
// when it returns, also after a panic.
func run(ctx context.Context, args []string, stderr io.Writer, extra ...lens.Option) (code int) {
	opts, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	cfg, err := lens.FromEnv("", "", nil)
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	spans := newSpanSummary()
	telemetry, err := lens.SetupTelemetry(ctx, cfg, append(extra, lens.WithSpanProcessor(spans))...)
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	defer func() {
		// Shutdown has a deadline of its own and ignores that ctx was cancelled.
		if err := telemetry.Shutdown(ctx); err != nil {
			fmt.Fprintln(stderr, "training: telemetry is incomplete:", err)
		}
		report(stderr, telemetry, spans)
	}()

	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	result, err := train(ctx, opts, telemetry.Meter())
	if err != nil {
		return fail(stderr, exitFailed, err)
	}
	fmt.Fprintln(stderr, result)
	return exitOK
}

func fail(stderr io.Writer, code int, err error) int {
	fmt.Fprintln(stderr, "training:", err)
	return code
}
