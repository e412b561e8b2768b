package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/nemo-lens/lens"
)

const patience = 10 * time.Second

// spanJob is the client's whole run (group job); the call is inside it.
const spanJob = "client.job"

func runClient(ctx context.Context, args []string, stderr io.Writer) error {
	set := flag.NewFlagSet("grpc check", flag.ContinueOnError)
	addr := set.String("addr", "", "address of the server")
	service := set.String("service", "", "the service to ask for (default: the server as a whole)")
	if err := parse(set, args, stderr); err != nil {
		return err
	}
	if *addr == "" {
		return usageError{errors.New("-addr is missing: name the address that the server listens on")}
	}
	shutdown, err := setUp(ctx, "grpc-client", stderr)
	if err != nil {
		return err
	}
	defer shutdown()
	return check(ctx, *addr, *service, stderr)
}

// check makes one call.
func check(ctx context.Context, addr, service string, stderr io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, span := lens.ManagedSpan(ctx, lens.Job, spanJob)
	defer lens.End(span, &err)

	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(clientHandler()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "the server answers", answer.GetStatus())
	if sc := span.SpanContext(); sc.IsValid() {
		fmt.Fprintln(stderr, "trace", sc.TraceID())
	}
	if answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("the server answers %v", answer.GetStatus())
	}
	return nil
}
