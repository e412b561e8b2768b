package otlptest

import (
	"context"
	"net/http"

	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // so that compressed requests can be read
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

func (s *Server) newGRPCServer() *grpc.Server {
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(s.set.grpcLimit),
		grpc.StatsHandler(wireStats{}),
		grpc.WaitForHandlers(true),
	}
	if s.certs != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.certs.server("h2"))))
	}
	g := grpc.NewServer(opts...)
	for signal, desc := range map[Signal]grpc.ServiceDesc{
		Traces:  coltracepb.TraceService_ServiceDesc,
		Metrics: colmetricspb.MetricsService_ServiceDesc,
		Logs:    collogspb.LogsService_ServiceDesc,
	} {
		path := "/" + desc.ServiceName + "/Export"
		// The generated handlers would hide a request that cannot be decoded.
		desc.HandlerType = (*any)(nil)
		desc.Methods = []grpc.MethodDesc{{
			MethodName: "Export",
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return s.export(ctx, signal, path, decode)
			},
		}}
		g.RegisterService(&desc, s)
	}
	return g
}

func (s *Server) export(ctx context.Context, signal Signal, path string, decode func(any) error) (any, error) {
	req := &Request{Signal: signal, Protocol: GRPC, Path: path, Header: http.Header{}}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		for k, values := range md {
			for _, v := range values {
				req.Header.Add(k, v)
			}
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		req.Remote = p.Addr.String()
	}
	msg := newPayload(signal)
	err := decode(msg)
	if w, ok := ctx.Value(wireKey{}).(*wire); ok {
		req.Encoding, req.Size, req.WireSize = w.encoding, w.size, w.compressed
	}
	req.Items = countItems(msg)
	s.record(req)
	if err != nil {
		s.conclude(req, undecoded(err))
		return nil, err
	}

	ans := s.take(ctx, req, msg)
	if ans.code == codes.OK {
		return ans.reply, nil
	}
	st := status.New(ans.code, ans.text)
	if ans.retryAfter > 0 {
		if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(ans.retryAfter)}); err == nil {
			st = with
		}
	}
	return nil, st.Err()
}

// undecoded names the reason for which gRPC itself could not read a request.
func undecoded(err error) Outcome {
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return TooLarge
	case codes.Canceled, codes.DeadlineExceeded:
		return Abandoned
	default:
		return Invalid
	}
}

// wire is what only a stats handler is told about a call.
type wire struct {
	encoding         string
	size, compressed int
}

type wireKey struct{}

// wireStats puts a wire into the context of each call. gRPC reports header and payload on the
// goroutine of the handler, before the handler goes on.
type wireStats struct{}

func (wireStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, wireKey{}, &wire{})
}

func (wireStats) HandleRPC(ctx context.Context, event stats.RPCStats) {
	w, ok := ctx.Value(wireKey{}).(*wire)
	if !ok {
		return
	}
	switch e := event.(type) {
	case *stats.InHeader:
		if e.Compression != "identity" {
			w.encoding = e.Compression
		}
	case *stats.InPayload:
		w.size, w.compressed = e.Length, e.CompressedLength
	}
}

func (wireStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (wireStats) HandleConn(context.Context, stats.ConnStats) {}

// countItems returns the number of spans, data points or log records in a request message.
func countItems(msg proto.Message) int {
	n := 0
	switch m := msg.(type) {
	case *coltracepb.ExportTraceServiceRequest:
		for _, r := range m.GetResourceSpans() {
			for _, sc := range r.GetScopeSpans() {
				n += len(sc.GetSpans())
			}
		}
	case *colmetricspb.ExportMetricsServiceRequest:
		for _, r := range m.GetResourceMetrics() {
			for _, sc := range r.GetScopeMetrics() {
				for _, metric := range sc.GetMetrics() {
					n += countPoints(metric)
				}
			}
		}
	case *collogspb.ExportLogsServiceRequest:
		for _, r := range m.GetResourceLogs() {
			for _, sc := range r.GetScopeLogs() {
				n += len(sc.GetLogRecords())
			}
		}
	}
	return n
}
