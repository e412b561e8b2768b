package otlptest

import (
	"net/http"
	"time"
)

// Signal is the kind of telemetry in a request.
type Signal string

// The signals.
const (
	Traces  Signal = "traces"
	Metrics Signal = "metrics"
	Logs    Signal = "logs"
)

// Protocol is the way a request came.
type Protocol string

// The protocols.
const (
	GRPC Protocol = "grpc"
	HTTP Protocol = "http/protobuf"
)

// Outcome says what became of a request.
type Outcome string

// The outcomes.
const (
	Pending    Outcome = "pending"    // still held by Slow or Silent
	Accepted   Outcome = "accepted"   // all items kept
	Partial    Outcome = "partial"    // some items kept, the rest reported as rejected
	Rejected   Outcome = "rejected"   // by Reject or Throttle
	TooLarge   Outcome = "too large"  // over a size limit
	Invalid    Outcome = "invalid"    // could not be decoded, or not a protobuf POST
	Unknown    Outcome = "unknown"    // an HTTP path that is not served
	Redirected Outcome = "redirected" // by Redirect
	Reset      Outcome = "reset"      // by ResetConnection
	Abandoned  Outcome = "abandoned"  // the client gave up, or the server was stopped, before the answer
)

// Request is one export call as the server saw it.
type Request struct {
	Signal   Signal // empty when the path is unknown
	Protocol Protocol
	Path     string      // the URL path, or the full gRPC method
	Header   http.Header // HTTP headers or gRPC metadata; Get works for both
	Encoding string      // "gzip" or empty
	Size     int         // bytes after decompression; 0 when the request was refused before that
	WireSize int         // bytes of the body as sent; 0 when refused before that
	Items    int         // spans, metric data points or log records in it; 0 when not decoded
	Remote   string      // the client's address
	Received time.Time
	Outcome  Outcome
}

// Requests returns the requests received so far, in the order in which they were received.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.requests))
	for i, r := range s.requests {
		out[i] = *r
		out[i].Header = r.Header.Clone()
	}
	return out
}

// record notes a request on arrival. The server goes on to own req.
func (s *Server) record(req *Request) {
	req.Received = time.Now()
	req.Outcome = Pending
	if s.set.countOnly {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	s.changed()
}

// conclude sets the outcome of a recorded request.
func (s *Server) conclude(req *Request, o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Outcome = o
	s.changed()
}
