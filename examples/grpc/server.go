package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/nemo-lens/lens"
)

// graceful is how long running calls have to end.
const graceful = 5 * time.Second

// listening begins the line that says where the server listens.
const listening = "listening on "

func newServer() *grpc.Server {
	srv := grpc.NewServer(grpc.StatsHandler(serverHandler()))
	healthpb.RegisterHealthServer(srv, tracedHealth{health.NewServer()})
	return srv
}

// tracedHealth is the standard service with a span around its work: a child of
// the call's span, which is in the context.
type tracedHealth struct{ *health.Server }

// Check looks a service up.
func (h tracedHealth) Check(ctx context.Context, in *healthpb.HealthCheckRequest) (out *healthpb.HealthCheckResponse, err error) {
	ctx, span := lens.ManagedSpan(ctx, lookup, "health.lookup", attribute.String("service", in.GetService()))
	defer lens.End(span, &err)
	return h.Server.Check(ctx, in)
}

func runServer(ctx context.Context, args []string, stdin io.Reader, stderr io.Writer) error {
	set := flag.NewFlagSet("grpc serve", flag.ContinueOnError)
	addr := set.String("addr", "127.0.0.1:0", "where to listen; port 0 for a free one")
	if err := parse(set, args, stderr); err != nil {
		return err
	}
	shutdown, err := setUp(ctx, "grpc-server", stderr)
	if err != nil {
		return err
	}
	defer shutdown()

	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	srv := newServer()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	// A read cannot be interrupted: this goroutine ends with the input or the process.
	go obeyCommands(stdin, stderr, stop)
	fmt.Fprintln(stderr, listening+l.Addr().String())

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	impatient := time.AfterFunc(graceful, srv.Stop)
	defer impatient.Stop()
	srv.GracefulStop()
	return <-failed // nil after a stop
}

// obeyCommands reads lines: "groups SPEC" changes what is recorded while the
// server runs, "stop" ends it. The end of the input ends nothing, so that the
// server can run without one.
func obeyCommands(stdin io.Reader, stderr io.Writer, stop func()) {
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		word, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		switch word {
		case "":
		case "stop":
			stop()
			return
		case "groups":
			if err := lens.SetSpanGroupSpec(rest); err != nil {
				fmt.Fprintln(stderr, "grpc:", err)
				continue
			}
			fmt.Fprintln(stderr, "groups:", lens.EnabledSpanGroups())
		default:
			fmt.Fprintf(stderr, "grpc: command %q: want \"groups SPEC\" or \"stop\"\n", word)
		}
	}
}
