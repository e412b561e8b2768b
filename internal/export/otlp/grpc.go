package otlp

import (
	"context"
	"crypto/tls"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

var grpcMethods = map[settings.Signal]string{
	settings.Traces:  "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
	settings.Metrics: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
	settings.Logs:    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}

type grpcSender struct {
	settings settings.OTLP
	headers  metadata.MD
	dial     []grpc.DialOption
	options  []grpc.CallOption

	mu       sync.Mutex
	conn     *grpc.ClientConn // made by the first export, as making one starts a goroutine
	upstream *upstream        // that sends spans over conn; nil when it does not
}

func newGRPC(o settings.OTLP, config *tls.Config) *grpcSender {
	s := &grpcSender{settings: o, headers: metadata.MD{}}
	for _, h := range o.Headers {
		s.headers.Set(h.Key, h.Value)
	}
	security := insecure.NewCredentials()
	if config != nil {
		security = credentials.NewTLS(config)
	}
	s.dial = []grpc.DialOption{
		grpc.WithTransportCredentials(security),
		grpc.WithUserAgent(userAgent()),
		grpc.WithDisableServiceConfig(), // DNS says where, not how
		grpc.WithConnectParams(grpc.ConnectParams{
			// grpc-go's own backoff goes up to two minutes, in which nothing is
			// delivered to a receiver that is long back.
			Backoff:           backoff.Config{BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: maxPause},
			MinConnectTimeout: 10 * time.Second,
		}),
	}
	if o.Signal == settings.Traces {
		s.dial = append(s.dial, grpc.WithUnaryInterceptor(s.intercept))
	}
	if o.Compression == settings.Gzip {
		s.options = append(s.options, grpc.UseCompressor(gzip.Name))
	}
	return s
}

// connect makes the connection, unless there is one.
func (s *grpcSender) connect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return nil
	}
	conn, err := grpc.NewClient(s.settings.Target(), s.dial...)
	if err != nil {
		return err
	}
	if s.settings.Signal == settings.Traces {
		if s.upstream, err = newUpstream(conn, s); err != nil {
			_ = conn.Close()
			return err
		}
	}
	s.conn = conn
	return nil
}

func (s *grpcSender) prepare(request proto.Message) (attempt, error) {
	if err := s.connect(); err != nil {
		return nil, err
	}
	return func(ctx context.Context, response proto.Message) error {
		if spans, ok := request.(*collector.ExportTraceServiceRequest); ok && s.upstream != nil {
			return s.upstream.send(ctx, spans, response)
		}
		return s.call(ctx, func(ctx context.Context, options ...grpc.CallOption) error {
			return s.conn.Invoke(ctx, grpcMethods[s.settings.Signal], request, response, options...)
		})
	}, nil
}

// call makes one call with the headers and options of the settings. Its error is of
// type *failure.
func (s *grpcSender) call(ctx context.Context, invoke func(context.Context, ...grpc.CallOption) error) error {
	// This replaces metadata that the context brought from the application's own
	// calls, which is none of the receiver's business.
	ctx = metadata.NewOutgoingContext(ctx, s.headers)
	var header, trailer metadata.MD
	err := invoke(ctx, append(s.options[:len(s.options):len(s.options)], grpc.Header(&header), grpc.Trailer(&trailer))...)
	if err == nil {
		return nil
	}
	return s.failure(ctx, err, len(header)+len(trailer) > 0)
}

func (s *grpcSender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upstream != nil {
		s.upstream.close()
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// failure describes err. answered says that the receiver sent something, so that
// the text may be its own.
func (s *grpcSender) failure(ctx context.Context, err error, answered bool) *failure {
	st := status.Convert(err)
	f := &failure{code: st.Code(), text: st.Code().String(), cause: err}
	said := st.Message()
	if !answered {
		if ctx.Err() != nil && (st.Code() == codes.DeadlineExceeded || st.Code() == codes.Canceled) {
			f.text = ""
			// A connection that was never made has its reason in here.
			if _, reason, ok := strings.Cut(said, "latest balancer error: "); ok {
				f.text = report.Scrub(reason)
			}
			return f
		}
		f.text = strings.TrimPrefix(report.ErrorText(err), "rpc error: code = ")
		f.text = strings.Replace(f.text, " desc = ", ": ", 1)
	}
	delay, hasDelay := retryDelay(st)
	switch st.Code() {
	case codes.Unavailable:
		f.retry, f.after = true, delay
		if !answered {
			f.hint, f.retry = s.connectionHint(said)
		}
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.DataLoss:
		f.retry, f.after = true, delay
	case codes.ResourceExhausted:
		f.retry, f.after = hasDelay, delay
		f.tooLarge = !hasDelay && guard.SaysTooLarge(said)
	case codes.Unauthenticated, codes.PermissionDenied:
		f.hint = hintHeaders(s.settings)
	case codes.Unimplemented:
		f.hint = hintProtocol(s.settings)
		// A server that is not one of gRPC has no such status, and its 404 becomes one here.
		if s.settings.Signal != settings.Traces && !strings.Contains(said, "unexpected HTTP status code") {
			f.hint = hintSignal(s.settings)
		}
	case codes.Unknown, codes.Internal, codes.InvalidArgument:
		f.tooLarge = guard.SaysTooLarge(said)
	}
	if f.tooLarge {
		f.text = st.Code().String() + ": the request is too large for the receiver"
	}
	return f
}

// connectionHint explains why there is no connection, and says whether there may
// be one soon.
func (s *grpcSender) connectionHint(said string) (hint string, retry bool) {
	if hint := hintClientCertificate(s.settings, said); hint != "" {
		return hint, false
	}
	switch {
	case strings.Contains(said, "first record does not look like a TLS handshake"):
		return hintPlaintextServer(s.settings), false
	case strings.Contains(said, "x509: "), strings.Contains(said, "tls: failed to verify"):
		return hintCertificate(s.settings), false
	case strings.Contains(said, "missing selected ALPN property"), strings.Contains(said, "frame too large"),
		strings.Contains(said, "looked like an HTTP/1.1 header"), strings.Contains(said, "malformed HTTP response"):
		return hintProtocol(s.settings), false
	case strings.Contains(said, "authentication handshake failed: "):
		return hintPlaintextServer(s.settings), true
	case strings.Contains(said, "error reading server preface"):
		if s.settings.Insecure {
			return hintTLSServer(s.settings), true
		}
		return hintProtocol(s.settings), true
	}
	return "", true
}

// retryDelay returns what the receiver asks to wait.
func retryDelay(st *status.Status) (time.Duration, bool) {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return max(info.GetRetryDelay().AsDuration(), 0), true
		}
	}
	return 0, false
}

// userAgent names this library and its version, where the build knows it.
var userAgent = sync.OnceValue(func() string {
	const module = "github.com/nemo-lens/lens"
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && strings.HasPrefix(m.Version, "v") {
				version = "/" + m.Version
			}
		}
	}
	return "nemo-lens-go" + version
})
