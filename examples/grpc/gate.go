package main

import (
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc/stats"

	"github.com/nemo-lens/lens"
)

// Both handlers read the gate at every call. The trace is carried from client to
// server in any case, so that a process whose group is off leaves no gap.

func serverHandler() stats.Handler {
	return otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(lens.GroupTracerProvider(rpcServer)))
}

func clientHandler() stats.Handler {
	return otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(lens.GroupTracerProvider(rpcClient)))
}
