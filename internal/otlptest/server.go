package otlptest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
)

const anyPort = "127.0.0.1:0"

// Server receives OTLP over gRPC and HTTP.
type Server struct {
	set         settings
	certs       *certificates // nil without TLS
	grpcAddress string
	httpAddress string

	lifecycle  sync.Mutex   // taken by Start, Stop and Restart, never by a handler
	grpcServer *grpc.Server // nil while stopped
	httpServer *http.Server
	serving    sync.WaitGroup // the two accept loops
	held       []*reservation // the ports, while stopped

	mu           sync.Mutex
	wake         chan struct{} // closed and replaced at every change
	grpcListener *listener
	httpListener *listener
	httpActive   int // HTTP connections and handlers with a goroutine
	script       []scripted
	requests     []*Request
	kept         []kept
	counts       map[Signal]int
}

// Start serves both protocols on loopback until the test and its subtests are done.
func Start(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	s := &Server{set: newSettings(opts), wake: make(chan struct{}), counts: map[Signal]int{}}
	if s.set.tls {
		s.certs = newCertificates(tb, s.set.clientCert)
	}
	s.grpcAddress, s.httpAddress = anyPort, anyPort
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if err := s.listen(); err != nil {
		tb.Fatalf("otlptest: listen on loopback: %v", err)
	}
	s.serve()
	tb.Cleanup(func() {
		s.Stop()
		s.lifecycle.Lock()
		defer s.lifecycle.Unlock()
		s.release()
	})
	return s
}

// GRPCAddr returns the gRPC address as "127.0.0.1:port".
func (s *Server) GRPCAddr() string { return s.grpcAddress }

// HTTPAddr returns the HTTP address as "127.0.0.1:port".
func (s *Server) HTTPAddr() string { return s.httpAddress }

// GRPCURL returns the gRPC address as a URL, https with TLS.
func (s *Server) GRPCURL() string { return s.scheme() + s.grpcAddress }

// HTTPURL returns the base URL of the HTTP paths, https with TLS.
func (s *Server) HTTPURL() string { return s.scheme() + s.httpAddress }

// HTTPSignalURL returns the full URL of a signal over HTTP, which otlptracehttp.WithEndpointURL and its
// likes want: to them the base URL means the path "/".
func (s *Server) HTTPSignalURL(signal Signal) string { return s.HTTPURL() + "/v1/" + string(signal) }

func (s *Server) scheme() string {
	if s.set.tls {
		return "https://"
	}
	return "http://"
}

// Stop closes the listeners and every connection, and returns when no handler runs any more. Connecting
// is refused from then on; the ports stay reserved for Restart. What was received stays readable.
// Stopping a stopped server does nothing.
func (s *Server) Stop() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.grpcServer == nil {
		return
	}
	s.grpcServer.Stop() // waits for handlers
	_ = s.httpServer.Close()
	s.serving.Wait()
	_ = s.httpServer.Close() // what was accepted while the first Close ran
	s.await(context.Background(), func() bool { return s.httpActive == 0 })
	s.httpListener.wait()
	s.grpcListener.wait()
	s.grpcServer, s.httpServer = nil, nil
	for _, addr := range []string{s.grpcAddress, s.httpAddress} {
		if r := reserve(addr); r != nil {
			s.held = append(s.held, r)
		}
	}
}

// Restart stops the server if it runs, and serves again on the same ports.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.Stop()
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.grpcServer != nil { // by another Restart, meanwhile
		return
	}
	// The reservation lets us listen beside it on Linux, without a moment in which another process could
	// take the port. Elsewhere it has to go first.
	err := s.listen()
	s.release()
	for deadline := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		err = s.listen()
	}
	if err != nil {
		tb.Fatalf("otlptest: listen again on %s and %s: %v", s.grpcAddress, s.httpAddress, err)
	}
	s.serve()
}

func (s *Server) release() {
	for _, r := range s.held {
		r.release()
	}
	s.held = nil
}

// listen opens both listeners or none.
func (s *Server) listen() error {
	var cfg net.ListenConfig
	g, err := cfg.Listen(context.Background(), "tcp", s.grpcAddress)
	if err != nil {
		return err
	}
	h, err := cfg.Listen(context.Background(), "tcp", s.httpAddress)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	s.mu.Lock()
	s.grpcListener, s.httpListener = newListener(g), newListener(h)
	s.mu.Unlock()
	if s.grpcAddress == anyPort { // at Start; Restart finds the same ones, while others may read them
		s.grpcAddress, s.httpAddress = g.Addr().String(), h.Addr().String()
	}
	return nil
}

func (s *Server) serve() {
	s.grpcServer, s.httpServer = s.newGRPCServer(), s.newHTTPServer()
	g, h := s.grpcServer, s.httpServer
	var gl, hl net.Listener = s.grpcListener, s.httpListener
	if s.certs != nil {
		hl = tls.NewListener(hl, s.certs.server("h2", "http/1.1"))
	}
	s.serving.Go(func() { _ = g.Serve(gl) })
	s.serving.Go(func() { _ = h.Serve(hl) })
}

// resetConn ends a client's connection with a TCP reset.
func (s *Server) resetConn(remote string) {
	s.mu.Lock()
	g, h := s.grpcListener, s.httpListener
	s.mu.Unlock()
	g.reset(remote)
	h.reset(remote)
}
