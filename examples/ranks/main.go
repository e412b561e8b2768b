// Command ranks trains one model in several processes at once, as torchrun or
// srun would start them, and shows what their spans say together.
//
//	go run ./examples/ranks -n 8
//
// One process starts the others, its ranks, from the same binary with RANK,
// WORLD_SIZE and LOCAL_RANK set. In every step each rank computes the gradient
// of its share of the batch, and all ranks average their gradients over TCP.
// The ranks whose export strategy says so write their spans to a file each; the
// first process reads the files and prints which ranks exported, the trace that
// they share, and the slowest rank of each step.
//
// The exit code is 0 when all ranks trained the same model, 1 when they did not,
// and 2 when the command line or the environment is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// asRank is the first argument of a process that is a rank.
const asRank = "rank"

// os.Exit runs no deferred call, so everything that must be closed lives in run.
func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if len(args) > 0 && args[0] == asRank {
		return exitCode(stderr, runRank(ctx, args[1:], stdout, stderr))
	}
	return exitCode(stderr, runLauncher(ctx, args, stdout, stderr))
}

// usageError is the caller's to mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func exitCode(stderr io.Writer, err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	fmt.Fprintln(stderr, "ranks:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}
