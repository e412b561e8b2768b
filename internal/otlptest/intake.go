package otlptest

import (
	"context"
	"fmt"
	"time"

	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// answer is what the transport has to do, in terms of both.
type answer struct {
	outcome    Outcome
	code       codes.Code // OK: answer with reply
	status     int
	text       string
	retryAfter time.Duration
	location   string
	reply      proto.Message
}

// newPayload returns the empty request message of a signal.
func newPayload(s Signal) proto.Message {
	switch s {
	case Traces:
		return &coltracepb.ExportTraceServiceRequest{}
	case Metrics:
		return &colmetricspb.ExportMetricsServiceRequest{}
	default:
		return &collogspb.ExportLogsServiceRequest{}
	}
}

// reply returns the response message of a signal; rejected and text are left out when both are empty.
func reply(s Signal, rejected int64, text string) proto.Message {
	partial := rejected != 0 || text != ""
	switch s {
	case Traces:
		r := &coltracepb.ExportTraceServiceResponse{}
		if partial {
			r.PartialSuccess = &coltracepb.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: text}
		}
		return r
	case Metrics:
		r := &colmetricspb.ExportMetricsServiceResponse{}
		if partial {
			r.PartialSuccess = &colmetricspb.ExportMetricsPartialSuccess{RejectedDataPoints: rejected, ErrorMessage: text}
		}
		return r
	default:
		r := &collogspb.ExportLogsServiceResponse{}
		if partial {
			r.PartialSuccess = &collogspb.ExportLogsPartialSuccess{RejectedLogRecords: rejected, ErrorMessage: text}
		}
		return r
	}
}

// take decides about a decoded request, which was recorded, and keeps what it accepts before the client
// can see the answer. The outcome is recorded too, so that it is there when the export returns.
func (s *Server) take(ctx context.Context, req *Request, msg proto.Message) answer {
	ans := s.decide(ctx, req, msg)
	s.conclude(req, ans.outcome)
	return ans
}

func (s *Server) decide(ctx context.Context, req *Request, msg proto.Message) answer {
	f := s.meet(req)
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return abandoned()
		}
	}
	switch {
	case f.Silent:
		<-ctx.Done()
		return abandoned()
	case f.Reset:
		s.resetConn(req.Remote)
		return answer{outcome: Reset, code: codes.Unavailable, status: 503}
	case f.MaxBytes > 0:
		return tooLarge(req.Size, f.MaxBytes)
	case f.Location != "":
		return answer{outcome: Redirected, status: f.Status, code: codes.Unknown, location: f.Location, text: f.Body}
	case f.Code != codes.OK && req.Protocol == GRPC, f.Status != 0 && req.Protocol == HTTP:
		return answer{outcome: Rejected, code: f.Code, status: f.Status, text: f.Body, retryAfter: f.RetryAfter}
	}
	if err := checkIDs(msg); err != nil {
		return invalid(err)
	}
	ok := answer{outcome: Accepted, status: 200, reply: reply(req.Signal, 0, "")}
	keep := req.Items
	if f.Partial {
		keep = max(0, keep-f.RejectItems)
		ok.outcome, ok.reply = Partial, reply(req.Signal, int64(f.RejectItems), f.Body)
	}
	s.keep(req, msg, keep)
	return ok
}

func abandoned() answer {
	return answer{outcome: Abandoned, code: codes.Canceled, status: 503}
}

func invalid(err error) answer {
	return answer{outcome: Invalid, code: codes.InvalidArgument, status: 400, text: err.Error()}
}

// tooLarge answers with the text of a gRPC server, which a client may look at.
func tooLarge(size, limit int) answer {
	return answer{
		outcome: TooLarge, code: codes.ResourceExhausted, status: 413,
		text: fmt.Sprintf("grpc: received message larger than max (%d vs. %d)", size, limit),
	}
}

// kept is the accepted part of one request.
type kept struct {
	request int // index in Requests
	msg     proto.Message
	items   int // the first so many items of msg
}

// keep stores the first n items of an accepted message, or only counts them.
func (s *Server) keep(req *Request, msg proto.Message, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[req.Signal] += n
	defer s.changed()
	if s.set.countOnly {
		return
	}
	s.kept = append(s.kept, kept{request: s.indexOf(req), msg: msg, items: n})
}

// indexOf returns the position of req, or -1 after a Reset. The newest request is the likeliest.
func (s *Server) indexOf(req *Request) int {
	for i := len(s.requests) - 1; i >= 0; i-- {
		if s.requests[i] == req {
			return i
		}
	}
	return -1
}

// Count returns how many spans, metric data points or log records were accepted.
func (s *Server) Count(signal Signal) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[signal]
}

// Reset forgets everything received and ends all faults. A request that is being treated at that moment
// may still be kept.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.kept, s.script = nil, nil, nil
	clear(s.counts)
	s.changed()
}

// keptOf returns the accepted messages of a signal.
func keptOf[M proto.Message](s *Server) []keptMessage[M] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []keptMessage[M]
	for _, k := range s.kept {
		if m, ok := k.msg.(M); ok {
			out = append(out, keptMessage[M]{msg: m, request: k.request, items: k.items})
		}
	}
	return out
}

type keptMessage[M proto.Message] struct {
	msg            M
	request, items int
}
