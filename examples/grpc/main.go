// Command grpc is a gRPC client and a gRPC server whose calls are one trace,
// with the spans of otelgrpc under the control of span groups.
//
//	grpc                 start a server process, call it, and stop it again
//	grpc serve [flags]   the server alone
//	grpc check [flags]   the client alone
//
// The service is the standard health service. Standard output belongs to the
// console exporter (NEMO_LENS_EXPORTER=console); everything else is written to
// standard error. The exit code is 0 when the server said that it serves, 1 when
// it did not, and 2 when the command line or the environment is wrong.
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

// Span groups of this program, beside the base groups.
const (
	rpcClient lens.SpanGroup = "rpc_client" // otelgrpc's spans of outgoing calls
	rpcServer lens.SpanGroup = "rpc_server" // otelgrpc's spans of incoming calls
	lookup    lens.SpanGroup = "lookup"     // what the server does in a call
)

var groups = lens.MustGroupClass("grpc_example",
	append(lens.BaseGroups.Groups().Groups(), rpcClient, rpcServer, lookup),
	map[string][]lens.SpanGroup{"default": {lens.Job, rpcClient, rpcServer, lookup}})

// os.Exit runs no deferred call, so everything that must be closed lives in run.
func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stderr)) }

func run(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err := dispatch(ctx, args, stdin, stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	fmt.Fprintln(stderr, "grpc:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func dispatch(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer) error {
	if len(args) == 0 {
		return demo(ctx, stderr)
	}
	switch args[0] {
	case "serve":
		return runServer(ctx, args[1:], stdin, stderr)
	case "check":
		return runClient(ctx, args[1:], stderr)
	}
	return usageError{fmt.Errorf("%q: want serve, check, or no argument for both", args[0])}
}

// usageError is the caller's to mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func parse(set *flag.FlagSet, args []string, stderr io.Writer) error {
	set.SetOutput(stderr)
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usageError{fmt.Errorf("command line: %w", err)}
	case set.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q: %s takes flags only", set.Arg(0), set.Name())}
	}
	return nil
}

// setUp starts telemetry for one of the two processes. The returned function
// hands over what was recorded; spans that are lost are said, and change nothing
// else.
func setUp(ctx context.Context, name string, stderr io.Writer) (shutdown func(), err error) {
	cfg, err := lens.FromEnv("", "", groups)
	if err != nil {
		return nil, usageError{err}
	}
	if cfg.ServiceName == lens.DefaultConfig().ServiceName {
		cfg.ServiceName = name // two processes, two services, unless the environment says otherwise
	}
	telemetry, err := lens.SetupTelemetry(ctx, cfg)
	if err != nil {
		return nil, usageError{err}
	}
	return func() {
		if err := telemetry.Shutdown(ctx); err != nil {
			fmt.Fprintln(stderr, "grpc: telemetry is incomplete:", err)
		}
	}, nil
}
