package main

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/nemo-lens/lens"
)

// Both handlers read the gate at every call. The trace is carried from client to
// server in any case, so that a process whose group is off leaves no gap.

func serverHandler() stats.Handler {
	return oneParent{otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(lens.GroupTracerProvider(rpcServer)))}
}

func clientHandler() stats.Handler {
	return otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(lens.GroupTracerProvider(rpcClient)))
}

// oneParent takes several traceparents for none, as the W3C recommendation asks:
// otelgrpc takes the first of them, so that whoever adds one chooses the trace.
type oneParent struct{ stats.Handler }

func (h oneParent) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if md, _ := metadata.FromIncomingContext(ctx); len(md.Get("traceparent")) > 1 {
		md.Delete("traceparent") // a copy
		ctx = metadata.NewIncomingContext(ctx, md)
	}
	return h.Handler.TagRPC(ctx, info)
}
