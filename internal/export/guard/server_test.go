package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// collector is a real OTLP server whose answer a test chooses.
type collector struct {
	coltracepb.UnimplementedTraceServiceServer
	answer func(spans int) (*coltracepb.ExportTraceServiceResponse, error)

	mu             sync.Mutex
	spans, refused int
}

func (c *collector) Export(_ context.Context, req *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	n := len(spansOf(req.ResourceSpans))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer != nil {
		if resp, err := c.answer(n); resp != nil || err != nil {
			if err != nil {
				c.refused++
			} else {
				c.spans += n
			}
			return resp, err
		}
	}
	c.spans += n
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

func (c *collector) received() (spans, refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans, c.refused
}

func overGRPC(t *testing.T, c *collector, opts ...grpc.ServerOption) sdktrace.SpanExporter {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(opts...)
	coltracepb.RegisterTraceServiceServer(srv, c)
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(lis) }()
	exp, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(lis.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := exp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		srv.Stop()
		<-done
	})
	return exp
}

// overHTTP serves c, refusing bodies over limit bytes with the given status.
func overHTTP(t *testing.T, c *collector, limit int64, refusal int, text string) sdktrace.SpanExporter {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if err != nil {
			c.mu.Lock()
			c.refused++
			c.mu.Unlock()
			http.Error(w, text, refusal)
			return
		}
		var req coltracepb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		resp, err := c.Export(r.Context(), &req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		out, _ := proto.Marshal(resp)
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(out)
	}))
	exp, err := otlptracehttp.New(t.Context(), otlptracehttp.WithInsecure(), otlptracehttp.WithEndpointURL(srv.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exp.Shutdown(context.Background())
		srv.Close()
	})
	return exp
}

func giantAmong(n, at, bytes int) []sdktrace.ReadOnlySpan {
	var in tracetest.SpanStubs
	for i := range n {
		in = append(in, stub(i, attribute.String("k", strings.Repeat("x", 10_000))))
	}
	in[at].Attributes = append(in[at].Attributes, attribute.String("big", strings.Repeat("x", bytes)))
	return in.Snapshots()
}

// TestRealServersSizeLimit sends 500 spans of 10 kB, one of them 5 MiB.
func TestRealServersSizeLimit(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	for name, server := range map[string]func(*testing.T, *collector) sdktrace.SpanExporter{
		"gRPC":     func(t *testing.T, c *collector) sdktrace.SpanExporter { return overGRPC(t, c) },
		"HTTP 413": func(t *testing.T, c *collector) sdktrace.SpanExporter { return overHTTP(t, c, limit, 413, "no") },
		"HTTP 400": func(t *testing.T, c *collector) sdktrace.SpanExporter {
			return overHTTP(t, c, limit, 400, "http: request body too large")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &collector{}
			lost, err := lostIn(t, New(server(t, c), Options{TextLimit: -1}), t.Context(), giantAmong(500, 123, 5<<20))
			if spans, _ := c.received(); lost != 1 || spans != 499 || err == nil {
				t.Errorf("lost %d, %d arrived: %v", lost, spans, err)
			}
		})
	}
}

func TestRealServersBadBytes(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(*testing.T, *collector) sdktrace.SpanExporter{
		"gRPC": func(t *testing.T, c *collector) sdktrace.SpanExporter { return overGRPC(t, c) },
		"HTTP": func(t *testing.T, c *collector) sdktrace.SpanExporter { return overHTTP(t, c, 4<<20, 413, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &collector{}
			spans := append(stubs(20), tracetest.SpanStubs{rich("a\xffb", "k\xff")}.Snapshots()...)
			if lost, err := lostIn(t, New(server(t, c), Options{}), t.Context(), spans); err != nil {
				t.Errorf("lost %d: %v", lost, err)
			}
			if n, _ := c.received(); n != 21 {
				t.Errorf("%d spans arrived of 21", n)
			}
		})
	}
}

func TestRealServersPartialSuccess(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(*testing.T, *collector) sdktrace.SpanExporter{
		"gRPC": func(t *testing.T, c *collector) sdktrace.SpanExporter { return overGRPC(t, c) },
		"HTTP": func(t *testing.T, c *collector) sdktrace.SpanExporter { return overHTTP(t, c, 4<<20, 413, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				rejected int64
				text     string
				want     int
			}{
				{3, "S3CR3T (7 spans rejected)", 3}, {0, "S3CR3T", 0}, {99, "", 10}, {-5, "odd", 0}, {10, "all", 10},
			} {
				srv := &collector{answer: func(int) (*coltracepb.ExportTraceServiceResponse, error) {
					return &coltracepb.ExportTraceServiceResponse{PartialSuccess: &coltracepb.ExportTracePartialSuccess{
						RejectedSpans: c.rejected, ErrorMessage: c.text,
					}}, nil
				}}
				lost, err := lostIn(t, New(server(t, srv), Options{}), t.Context(), stubs(10))
				if lost != c.want || err == nil || strings.Contains(err.Error(), "S3CR3T") {
					t.Errorf("rejected %d (%q): lost %d, want %d: %v", c.rejected, c.text, lost, c.want, err)
				}
			}
		})
	}
}

// TestRefusalsAreNotHalved: being over quota or unauthorised does not get better
// with more requests.
func TestRefusalsAreNotHalved(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.Unauthenticated, codes.InvalidArgument, codes.Internal} {
		c := &collector{answer: func(int) (*coltracepb.ExportTraceServiceResponse, error) {
			return nil, status.Error(code, "data refused, S3CR3T")
		}}
		lost, err := lostIn(t, New(overGRPC(t, c), Options{}), t.Context(), stubs(8))
		if _, refused := c.received(); lost != 8 || refused != 1 {
			t.Errorf("%v: lost %d in %d requests", code, lost, refused)
		}
		if strings.Contains(err.Error(), "S3CR3T") || !strings.Contains(err.Error(), code.String()) {
			t.Errorf("error text: %v", err)
		}
		if s, ok := status.FromError(err); !ok || s.Code() != code {
			t.Errorf("the gRPC status is not behind the error: %v", s)
		}
	}
	c := &collector{answer: func(int) (*coltracepb.ExportTraceServiceResponse, error) { return nil, errors.New("S3CR3T") }}
	lost, err := lostIn(t, New(overHTTP(t, c, 4<<20, 413, ""), Options{}), t.Context(), stubs(8))
	if _, refused := c.received(); lost != 8 || refused != 1 || strings.Contains(err.Error(), "S3CR3T") || !strings.Contains(err.Error(), "401") {
		t.Errorf("HTTP 401: lost %d in %d requests: %v", lost, refused, err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, false},
		{context.DeadlineExceeded, false},
		{status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)"), true},
		{status.Error(codes.ResourceExhausted, "trying to send message larger than max (5 vs. 4)"), true},
		{fmt.Errorf("traces export: %w", errors.Join(status.Error(codes.ResourceExhausted, "Message Too Large"))), true},
		{status.Error(codes.ResourceExhausted, "over quota"), false},
		{status.Error(codes.Unavailable, "message too large"), false},
		{status.Error(codes.Unknown, "unexpected HTTP status code received from server: 413 (Request Entity Too Large)"), true},
		{errors.New("request message too large: exceeded 67108864 bytes"), true},
		{errors.New("request body too large: exceeded 67108864 bytes"), true},
		{errors.New("failed to send to http://h/v1/traces: 413 Request Entity Too Large (body: (empty))"), true},
		{errors.New("failed to send to http://h/v1/traces: 400 Bad Request (body: http: request body too large)"), true},
		{errors.New("failed to send to http://h/v1/traces: 400 Bad Request (body: : 413 )"), false},
		{errors.New("failed to send to http://h/v1/traces: 500 Internal (body: too large)"), false},
	} {
		if got := TooLarge(c.err); got != c.want {
			t.Errorf("TooLarge(%v) = %v", c.err, got)
		}
	}
}
