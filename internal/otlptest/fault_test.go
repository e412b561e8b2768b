package otlptest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestSlowKeepsWhatItAnswersLate(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, _ Protocol, exp sdktrace.SpanExporter) {
		const delay = 50 * time.Millisecond
		s.SetFault(Slow(delay))
		start := time.Now()
		if err := exp.ExportSpans(t.Context(), made(t, 3)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < delay {
			t.Errorf("answered after %v, want %v or more", took, delay)
		}
		if n := s.Count(Traces); n != 3 {
			t.Errorf("%d spans, want 3", n)
		}
		wantOutcomes(t, s, Accepted)
	})
}

func TestSlowDropsWhatTheClientAbandons(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, _ Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(Slow(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		var exporting sync.WaitGroup
		exporting.Go(func() { _ = exp.ExportSpans(ctx, made(t, 1)) })
		s.WaitRequests(t, 1, patience)
		cancel()
		exporting.Wait()
		waitOutcome(t, s, Abandoned)
		if n := s.Count(Traces); n != 0 {
			t.Errorf("%d spans, want 0", n)
		}
	})
}

func TestSilentNeverAnswers(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, p Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(Silent())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := exp.ExportSpans(ctx, made(t, 1)); !isTimeout(err) {
			t.Errorf("error %v from an export that was never answered, want a timeout", err)
		}
		waitOutcome(t, s, Abandoned)
		for _, r := range s.Requests() {
			if r.Items != 1 || r.Protocol != p {
				t.Errorf("request of %d items over %s, want 1 over %s", r.Items, r.Protocol, p)
			}
		}
	})
}

// A server that holds requests can still be stopped.
func TestStopEndsHeldRequests(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, _ Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(Silent())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var exporting sync.WaitGroup
		exporting.Go(func() { _ = exp.ExportSpans(ctx, made(t, 1)) })
		s.WaitRequests(t, 1, patience)
		s.Stop()
		waitOutcome(t, s, Abandoned)
		cancel()
		exporting.Wait()
	})
}

func TestRejectSaysWhatItWasTold(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, p Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(Reject(codes.Unauthenticated, http.StatusUnauthorized).WithBody("token of bob is stale"))
		err := exp.ExportSpans(t.Context(), made(t, 2))
		want := "401"
		if p == GRPC {
			want = "Unauthenticated"
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "token of bob is stale") {
			t.Errorf("error %v, want %s and the body", err, want)
		}
		wantOutcomes(t, s, Rejected)
		if n := s.Count(Traces); n != 0 {
			t.Errorf("%d spans kept of a rejected request", n)
		}
		if r := s.Requests()[0]; r.Items != 2 {
			t.Errorf("%d items, want 2", r.Items)
		}
	})
}

func TestRejectTimesRecovers(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, _ Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(RejectTimes(2, codes.Unavailable, http.StatusServiceUnavailable))
		if err := exp.ExportSpans(t.Context(), made(t, 1)); err != nil {
			t.Fatal(err)
		}
		wantOutcomes(t, s, Rejected, Rejected, Accepted)
	})
}

func TestThrottleIsHonoured(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, p Protocol, exp sdktrace.SpanExporter) {
		const wait = 200 * time.Millisecond
		s.SetFault(Throttle(wait).Times(1))
		if err := exp.ExportSpans(t.Context(), made(t, 1)); err != nil {
			t.Fatal(err)
		}
		wantOutcomes(t, s, Rejected, Accepted)
		want := wait
		if p == HTTP {
			want = time.Second // Retry-After counts in seconds
		}
		r := s.Requests()
		if gap := r[1].Received.Sub(r[0].Received); gap < want {
			t.Errorf("came back after %v, want %v or more", gap, want)
		}
	})
}

func TestResetConnectionBreaksAndRecovers(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, p Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(ResetConnection().Times(1))
		err := exp.ExportSpans(t.Context(), made(t, 1))
		if p == HTTP { // not retried by the exporter
			if err == nil || !strings.Contains(err.Error(), "connection reset by peer") && !strings.Contains(err.Error(), "EOF") {
				t.Errorf("error %v, want a reset", err)
			}
			err = exp.ExportSpans(t.Context(), made(t, 1))
		}
		if err != nil {
			t.Fatal(err)
		}
		wantOutcomes(t, s, Reset, Accepted)
	})
}

func TestPartialSuccessKeepsTheRest(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, _ Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(PartialSuccess(2, "two are odd"))
		err := exp.ExportSpans(t.Context(), made(t, 5))
		if err == nil || !strings.Contains(err.Error(), "two are odd") || !strings.Contains(err.Error(), "2 spans rejected") {
			t.Errorf("error %v, want the message and the count", err)
		}
		if n := len(s.Spans()); n != 3 {
			t.Errorf("%d spans, want 3", n)
		}
		wantOutcomes(t, s, Partial)
	})
}

// The fault and the server's own limit look the same from outside.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 2000
	limits := map[string]func(t *testing.T) *Server{
		"fault": func(t *testing.T) *Server {
			s := Start(t)
			s.SetFault(MaxRequestBytes(limit))
			return s
		},
		"own limit": func(t *testing.T) *Server { return Start(t, WithMaxRequestBytes(limit)) },
	}
	for name, start := range limits {
		for p, connect := range exporters {
			t.Run(name+"/"+string(p), func(t *testing.T) {
				t.Parallel()
				s := start(t)
				exp := connect(t, s, patience)
				large := made(t, 1, trace.WithAttributes(attribute.String("text", strings.Repeat("x", limit))))
				err := exp.ExportSpans(t.Context(), large)
				var st interface{ GRPCStatus() *status.Status }
				switch {
				case p == HTTP && (err == nil || !strings.Contains(err.Error(), "413")):
					t.Errorf("error %v, want status 413", err)
				case p == GRPC && !errors.As(err, &st):
					t.Errorf("error %v, want a gRPC status", err)
				case p == GRPC && (st.GRPCStatus().Code() != codes.ResourceExhausted ||
					!strings.HasPrefix(st.GRPCStatus().Message(), "grpc: received message larger than max (")):
					t.Errorf("status %v, want ResourceExhausted in a gRPC server's words", st.GRPCStatus())
				}
				// A gRPC server notes what it refused after it has answered.
				s.WaitRequests(t, 1, patience)
				if err := exp.ExportSpans(t.Context(), made(t, 1)); err != nil {
					t.Errorf("a small request: %v", err)
				}
				wantOutcomes(t, s, TooLarge, Accepted)
			})
		}
	}
}

func TestRedirectIsSentOverHTTPOnly(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	overBoth(t, patience, func(t *testing.T, s *Server, p Protocol, exp sdktrace.SpanExporter) {
		s.SetFault(Redirect(http.StatusTemporaryRedirect, elsewhere.URL))
		err := exp.ExportSpans(t.Context(), made(t, 1))
		if p == GRPC {
			if err != nil {
				t.Fatal(err)
			}
			wantOutcomes(t, s, Accepted)
			return
		}
		if err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("error %v, want that of the other server", err)
		}
		wantOutcomes(t, s, Redirected)
	})
}

func TestFaultsMakeAScript(t *testing.T) {
	t.Parallel()
	s := Start(t)
	grpcExp, httpExp := exporters[GRPC](t, s, patience), exporters[HTTP](t, s, patience)
	s.SetFault(
		Reject(codes.Internal, http.StatusInternalServerError).Over(HTTP),
		PartialSuccess(0, "a warning").On(Logs),
		RejectTimes(1, codes.Unavailable, http.StatusServiceUnavailable).On(Traces),
	)
	if err := httpExp.ExportSpans(t.Context(), made(t, 1)); err == nil {
		t.Error("the fault for HTTP did not meet a request over HTTP")
	}
	if err := grpcExp.ExportSpans(t.Context(), made(t, 1)); err != nil {
		t.Error(err)
	}
	wantOutcomes(t, s, Rejected, Rejected, Accepted)
	s.SetFault()
	if err := httpExp.ExportSpans(t.Context(), made(t, 1)); err != nil {
		t.Errorf("after the faults ended: %v", err)
	}
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded ||
		err != nil && strings.Contains(err.Error(), "DeadlineExceeded")
}

// waitOutcome waits until all requests have that outcome.
func waitOutcome(t *testing.T, s *Server, want Outcome) {
	t.Helper()
	s.WaitFor(t, patience, string(want), func(s *Server) bool {
		for _, r := range s.Requests() {
			if r.Outcome != want {
				return false
			}
		}
		return true
	})
}
