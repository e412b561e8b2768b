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

// A client calls inside a span of its own. When otelgrpc starts none, it takes
// that one for the call's, writes to it and ends it; the filter keeps it away. It
// stops otelgrpc's metrics of these calls, too.
func clientHandler() stats.Handler {
	return otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(lens.GroupTracerProvider(rpcClient)),
		otelgrpc.WithFilter(func(*stats.RPCTagInfo) bool { return lens.IsSpanGroupEnabled(rpcClient) }))
}
