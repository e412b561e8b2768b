package otlptest

import (
	"time"

	"google.golang.org/grpc/codes"
)

// Fault says how to treat requests badly. The zero value treats them well. Make one with the
// constructors and narrow it with the methods, which return changed copies:
//
//	srv.SetFault(otlptest.Reject(codes.Unavailable, 503).Times(2).On(otlptest.Traces))
type Fault struct {
	Delay       time.Duration // wait this long before anything else
	Silent      bool          // never answer; the request ends with the connection
	Reset       bool          // reset the TCP connection instead of answering
	Code        codes.Code    // answer over gRPC, when not OK
	Status      int           // answer over HTTP, when not 0
	Body        string        // gRPC status message, HTTP body, partial-success message
	RetryAfter  time.Duration // RetryInfo over gRPC; Retry-After over HTTP, in whole seconds rounded up
	Partial     bool          // accept all but RejectItems of the items, and say so
	RejectItems int           // see Partial; 0 with a Body is a warning without a loss
	MaxBytes    int           // refuse larger requests, when above 0; leaves smaller ones to the next fault
	Location    string        // HTTP redirect target, with Status; requests over gRPC go to the next fault

	Count    int      // treat this many requests, then none; 0: no end
	Signal   Signal   // only this signal, when not empty
	Protocol Protocol // only this protocol, when not empty
}

// Slow answers well, after d. What the client abandons meanwhile is not kept.
func Slow(d time.Duration) Fault { return Fault{Delay: d} }

// Silent accepts and reads requests and never answers them.
func Silent() Fault { return Fault{Silent: true} }

// Reject answers with code over gRPC and with status over HTTP.
func Reject(code codes.Code, status int) Fault { return Fault{Code: code, Status: status} }

// RejectTimes rejects n requests, then recovers.
func RejectTimes(n int, code codes.Code, status int) Fault { return Reject(code, status).Times(n) }

// ResetConnection sends a TCP reset once the request was read.
func ResetConnection() Fault { return Fault{Reset: true} }

// PartialSuccess accepts all but the last n items of each request and answers with n and message.
func PartialSuccess(n int, message string) Fault {
	return Fault{Partial: true, RejectItems: n, Body: message}
}

// Throttle asks the client to come back after d: Unavailable with RetryInfo over gRPC, 429 with
// Retry-After over HTTP.
func Throttle(d time.Duration) Fault {
	return Fault{Code: codes.Unavailable, Status: 429, RetryAfter: d}
}

// MaxRequestBytes refuses requests of more than n bytes, measured after decompression, as a gRPC server
// with that maximum message size does, and with status 413 over HTTP.
func MaxRequestBytes(n int) Fault { return Fault{MaxBytes: n} }

// Redirect sends HTTP clients to location.
func Redirect(status int, location string) Fault { return Fault{Status: status, Location: location} }

// Times limits the fault to n requests.
func (f Fault) Times(n int) Fault { f.Count = n; return f }

// On limits the fault to one signal.
func (f Fault) On(s Signal) Fault { f.Signal = s; return f }

// Over limits the fault to one protocol.
func (f Fault) Over(p Protocol) Fault { f.Protocol = p; return f }

// WithBody sets the text that goes with a refusal.
func (f Fault) WithBody(text string) Fault { f.Body = text; return f }

// WithRetryAfter adds a time to wait to a refusal.
func (f Fault) WithRetryAfter(d time.Duration) Fault { f.RetryAfter = d; return f }

// After delays the fault.
func (f Fault) After(d time.Duration) Fault { f.Delay = d; return f }

func (f Fault) concerns(req *Request) bool {
	switch {
	case f.Signal != "" && f.Signal != req.Signal,
		f.Protocol != "" && f.Protocol != req.Protocol,
		f.Location != "" && req.Protocol != HTTP,
		f.MaxBytes > 0 && req.Size <= f.MaxBytes:
		return false
	}
	return true
}

// SetFault replaces the faults; no argument ends them. Each request meets the first fault that concerns
// it and is not used up, so that several make a script: reject two, then be slow. Requests already held
// stay held.
func (s *Server) SetFault(faults ...Fault) {
	script := make([]scripted, len(faults))
	for i, f := range faults {
		script[i] = scripted{fault: f, left: f.Count}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// scripted is a fault and, when it has an end, how many requests it still treats.
type scripted struct {
	fault Fault
	left  int
}

// meet returns the fault for req and uses it up by one.
func (s *Server) meet(req *Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.script {
		sc := &s.script[i]
		if !sc.fault.concerns(req) || sc.fault.Count > 0 && sc.left == 0 {
			continue
		}
		sc.left--
		return sc.fault
	}
	return Fault{}
}
