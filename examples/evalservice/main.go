// Command evalservice evaluates a model on a set of tasks with a fleet of
// servers, and shows each rollout as one trace across all of them.
//
//	go run ./examples/evalservice
//
// The first process is the supervisor. It starts three servers from the same
// binary, on loopback: an agent, a model (a small deterministic solver), and a
// resources server that verifies answers. It sends them rollouts, stops them,
// and prints the trace of the slowest rollout, the accuracy, what became of
// every span, and the metrics. No collector is needed: each process writes to
// a file, which the supervisor reads.
//
// The exit code is 0 when every rollout was scored, whatever the accuracy, 1
// when one was not, and 2 when the command line is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// asServer is the first argument of a process that is a server.
const asServer = "server"

// os.Exit runs no deferred call, so everything that must be closed lives in run.
func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	var err error
	if len(args) > 0 && args[0] == asServer {
		err = runServer(ctx, args[1:], stdin, stdout, stderr)
	} else {
		err = runSupervisor(ctx, args, stdout, stderr)
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	fmt.Fprintln(stderr, "evalservice:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}
