package otlp

import (
	"context"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// upstream sends spans with OpenTelemetry's client, over a connection of ours. All that
// makes a difference is given to it: the connection has the address, the security, the
// compression and the headers, the retries are off, and an interceptor reads the answer,
// of which the client tells neither the code nor the number of rejected spans apart.
type upstream struct{ client otlptrace.Client }

// newUpstream returns nil when the client must not be made, see [speaksUp].
func newUpstream(conn *grpc.ClientConn, s *grpcSender) (*upstream, error) {
	if speaksUp(os.Getenv) {
		return nil, nil
	}
	c := otlptracegrpc.NewClient(
		otlptracegrpc.WithGRPCConn(conn),
		otlptracegrpc.WithHeaders(nil),
		otlptracegrpc.WithTimeout(s.settings.Timeout),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: false}),
		otlptracegrpc.WithMaxRequestSize(0), // deliver has one
	)
	if err := c.Start(context.Background()); err != nil {
		return nil, err
	}
	return &upstream{c}, nil
}

// speaksUp reports whether OpenTelemetry's client would do more with the environment
// than read what it is then told otherwise. It prints the text of a variable that it
// cannot parse, passwords included and whichever logger the application has chosen; it opens
// the files that are named there, without a limit, and waits for what is no file; and it
// makes metrics of its own. The variables may be another product's.
func speaksUp(getenv func(string) string) bool {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		get := func(suffix string) string { return strings.TrimSpace(getenv(prefix + suffix)) }
		if get("CERTIFICATE")+get("CLIENT_CERTIFICATE")+get("CLIENT_KEY") != "" {
			return true
		}
		if _, err := url.Parse(get("ENDPOINT")); err != nil {
			return true
		}
		if text := get("TIMEOUT"); text != "" {
			if _, err := strconv.Atoi(text); err != nil {
				return true
			}
		}
		if text := get("HEADERS"); text != "" && !plainHeaders(text) {
			return true
		}
	}
	return strings.EqualFold(getenv("OTEL_GO_X_OBSERVABILITY"), "true")
}

// plainHeaders reports whether text is a list of headers that anybody can read.
func plainHeaders(text string) bool {
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(value); !ok || err != nil {
			return false
		}
		// Of the names of headers only those that nobody takes for another thing.
		if key = strings.TrimSpace(key); key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
			return false
		}
	}
	return true
}

// upload is one call of the client, which the interceptor finds in its context.
type upload struct {
	response proto.Message
	err      error
	done     bool // the interceptor was reached
}

type uploadKey struct{}

// send has the client send the request, and returns what the interceptor saw.
func (u *upstream) send(ctx context.Context, request *collector.ExportTraceServiceRequest, response proto.Message) error {
	call := &upload{response: response}
	err := u.client.UploadTraces(context.WithValue(ctx, uploadKey{}, call), request.ResourceSpans)
	if call.done {
		return call.err
	}
	if err == nil {
		err = errShutdown // cannot be: it has sent nothing
	}
	return &failure{text: err.Error()}
}

// intercept makes the call of the client, with the options of the sender.
func (s *grpcSender) intercept(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	call, ok := ctx.Value(uploadKey{}).(*upload)
	if !ok {
		return invoke(ctx, method, request, reply, conn, opts...)
	}
	call.done = true
	call.err = s.call(ctx, func(ctx context.Context, more ...grpc.CallOption) error {
		return invoke(ctx, method, request, reply, conn, append(opts, more...)...)
	})
	if call.err != nil {
		return call.err
	}
	proto.Merge(call.response, reply.(proto.Message))
	return nil
}

func (u *upstream) close() { _ = u.client.Stop(context.Background()) }
