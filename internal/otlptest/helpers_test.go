package otlptest

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The HTTP exporter's shared transport keeps idle connections beyond the exporter.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// patience is far more than anything here takes, so that only a defect reaches it.
const patience = 30 * time.Second

// exporters makes one exporter of spans for each protocol, as a user would.
var exporters = map[Protocol]func(t *testing.T, s *Server, timeout time.Duration) sdktrace.SpanExporter{
	GRPC: func(t *testing.T, s *Server, timeout time.Duration) sdktrace.SpanExporter {
		return started(t)(otlptracegrpc.New(t.Context(),
			otlptracegrpc.WithEndpointURL(s.GRPCURL()),
			otlptracegrpc.WithTimeout(timeout),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{
				Enabled: true, InitialInterval: time.Millisecond, MaxInterval: 5 * time.Millisecond, MaxElapsedTime: patience,
			})))
	},
	HTTP: func(t *testing.T, s *Server, timeout time.Duration) sdktrace.SpanExporter {
		return started(t)(otlptracehttp.New(t.Context(),
			otlptracehttp.WithEndpointURL(s.HTTPSignalURL(Traces)),
			otlptracehttp.WithTimeout(timeout),
			otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
				Enabled: true, InitialInterval: time.Millisecond, MaxInterval: 5 * time.Millisecond, MaxElapsedTime: patience,
			})))
	},
}

func started(t *testing.T) func(*otlptrace.Exporter, error) sdktrace.SpanExporter {
	t.Helper()
	return func(e *otlptrace.Exporter, err error) sdktrace.SpanExporter {
		t.Helper()
		if err != nil {
			t.Fatalf("exporter: %v", err)
		}
		t.Cleanup(func() { _ = e.Shutdown(context.Background()) })
		return e
	}
}

// overBoth runs test over each protocol against a server of its own.
func overBoth(t *testing.T, timeout time.Duration, test func(t *testing.T, s *Server, p Protocol, exp sdktrace.SpanExporter)) {
	for p, connect := range exporters {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := Start(t)
			test(t, s, p, connect(t, s, timeout))
		})
	}
}

// made returns n ended spans of the SDK, children of one root that is not among them.
func made(t *testing.T, n int, opts ...trace.SpanStartOption) []sdktrace.ReadOnlySpan {
	t.Helper()
	var spans collected
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&spans))
	ctx, root := tp.Tracer("scope").Start(t.Context(), "root")
	for range n {
		_, s := tp.Tracer("scope").Start(ctx, "span", opts...)
		s.End()
	}
	_ = root // stays open
	return spans
}

type collected []sdktrace.ReadOnlySpan

func (c *collected) ExportSpans(_ context.Context, s []sdktrace.ReadOnlySpan) error {
	*c = append(*c, s...)
	return nil
}

func (*collected) Shutdown(context.Context) error { return nil }

func wantOutcomes(t *testing.T, s *Server, want ...Outcome) {
	t.Helper()
	got := s.WaitRequests(t, len(want), patience)
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d: %+v", len(got), len(want), got)
	}
	for i, r := range got {
		if r.Outcome != want[i] {
			t.Errorf("request %d: outcome %q, want %q", i, r.Outcome, want[i])
		}
	}
}
