package otlptest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// secure connects over both protocols with a TLS configuration.
func secure(t *testing.T, s *Server, cfg *tls.Config) map[Protocol]sdktrace.SpanExporter {
	t.Helper()
	return map[Protocol]sdktrace.SpanExporter{
		GRPC: started(t)(otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpointURL(s.GRPCURL()),
			otlptracegrpc.WithTLSCredentials(credentials.NewTLS(cfg)))),
		HTTP: started(t)(otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(s.HTTPSignalURL(Traces)),
			otlptracehttp.WithTLSClientConfig(cfg))),
	}
}

// An exporter that retries delivers once the server is back, over the same address.
func TestRestartOnTheSamePorts(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, p Protocol, exp sdktrace.SpanExporter) {
		grpcAddr, httpAddr := s.GRPCAddr(), s.HTTPAddr()
		if err := exp.ExportSpans(t.Context(), made(t, 1)); err != nil {
			t.Fatal(err)
		}
		s.Stop()
		s.Stop()
		for _, addr := range []string{grpcAddr, httpAddr} {
			refused(t, addr)
		}
		if n := len(s.Spans()); n != 1 {
			t.Errorf("%d spans to be read from a stopped server, want 1", n)
		}
		var exporting sync.WaitGroup
		if p == GRPC { // the HTTP exporter does not retry a refused connection
			exporting.Go(func() {
				if err := exp.ExportSpans(t.Context(), made(t, 1)); err != nil {
					t.Errorf("during the outage: %v", err)
				}
			})
		}
		s.Restart(t)
		if s.GRPCAddr() != grpcAddr || s.HTTPAddr() != httpAddr {
			t.Errorf("addresses %s and %s, want %s and %s", s.GRPCAddr(), s.HTTPAddr(), grpcAddr, httpAddr)
		}
		exporting.Wait()
		if err := exp.ExportSpans(t.Context(), made(t, 1)); err != nil {
			t.Fatal(err)
		}
		want := map[Protocol]int{GRPC: 3, HTTP: 2}[p]
		if n := len(s.WaitSpans(t, want, patience)); n != want {
			t.Errorf("%d spans, want %d", n, want)
		}
	})
}

func TestRestartManyTimes(t *testing.T) {
	t.Parallel()
	s := Start(t)
	exp := exporters[GRPC](t, s, patience)
	for i := range 20 {
		s.Restart(t)
		if err := exp.ExportSpans(t.Context(), made(t, 1)); err != nil {
			t.Fatalf("after restart %d: %v", i+1, err)
		}
	}
}

// Everything may be used at once.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var exporting, meddling sync.WaitGroup
	for _, connect := range exporters {
		exp := connect(t, s, patience)
		for range 2 {
			exporting.Go(func() {
				for ctx.Err() == nil {
					_ = exp.ExportSpans(ctx, made(t, 3))
				}
			})
		}
	}
	for _, meddle := range []func(){
		func() { s.SetFault(Reject(codes.Unavailable, 503), Slow(time.Millisecond)); s.SetFault() },
		func() { s.SetFault(ResetConnection().Times(1)) },
		func() { s.Stop(); s.Restart(t) },
		func() { _ = Tree(s.Spans()); _ = s.Requests(); _ = s.Count(Traces) },
	} {
		meddling.Go(func() {
			for range 10 {
				meddle()
			}
		})
	}
	meddling.Wait()
	s.Reset()
	s.WaitSpans(t, 10, patience)
	cancel()
	exporting.Wait()
}

func TestClosedAddrRefuses(t *testing.T) {
	t.Parallel()
	for range 3 {
		refused(t, ClosedAddr(t))
	}
}

func refused(t *testing.T, addr string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err == nil {
		_ = c.Close()
		t.Fatalf("connected to %s, where nobody should listen", addr)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want a refusal", err)
	}
}

func TestSilentAddrAcceptsAndSaysNothing(t *testing.T) {
	t.Parallel()
	c, err := net.DialTimeout("tcp", SilentAddr(t), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%d bytes and error %v, want none and a timeout", n, err)
	}
}

func TestBlackholeSwallowsAttempts(t *testing.T) {
	t.Parallel()
	c, err := net.DialTimeout("tcp", Blackhole(t), 50*time.Millisecond)
	if err == nil {
		_ = c.Close()
		t.Fatal("connected to a black hole")
	}
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("error %v, want a timeout", err)
	}
}
