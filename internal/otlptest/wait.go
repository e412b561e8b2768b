package otlptest

import (
	"context"
	"testing"
	"time"
)

// changed wakes everybody who waits. The caller holds mu.
func (s *Server) changed() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// await returns true once cond, called with mu held, holds, and false when ctx ends first.
func (s *Server) await(ctx context.Context, cond func() bool) bool {
	for {
		s.mu.Lock()
		ok, wake := cond(), s.wake
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return false
		}
	}
}

// waitCount waits until count, called with mu held, is at least n.
func (s *Server) waitCount(tb testing.TB, n int, timeout time.Duration, what string, count func() int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	got := 0
	if !s.await(ctx, func() bool { got = count(); return got >= n }) {
		tb.Fatalf("otlptest: after %v: %d %s, want at least %d", timeout, got, what, n)
	}
}

func (s *Server) accepted(signal Signal) func() int {
	return func() int { return s.counts[signal] }
}

// WaitSpans returns all spans as soon as there are at least n, and fails the test when there are fewer
// after timeout.
func (s *Server) WaitSpans(tb testing.TB, n int, timeout time.Duration) []Span {
	tb.Helper()
	s.waitCount(tb, n, timeout, "spans", s.accepted(Traces))
	return s.Spans()
}

// WaitMetrics returns all metrics as soon as they have at least n data points together, and fails the
// test when they have fewer after timeout.
func (s *Server) WaitMetrics(tb testing.TB, n int, timeout time.Duration) []Metric {
	tb.Helper()
	s.waitCount(tb, n, timeout, "data points", s.accepted(Metrics))
	return s.Metrics()
}

// WaitLogs returns all log records as soon as there are at least n, and fails the test when there are
// fewer after timeout.
func (s *Server) WaitLogs(tb testing.TB, n int, timeout time.Duration) []LogRecord {
	tb.Helper()
	s.waitCount(tb, n, timeout, "log records", s.accepted(Logs))
	return s.Logs()
}

// WaitRequests returns all requests as soon as at least n have arrived, whatever became of them, and
// fails the test when there are fewer after timeout.
func (s *Server) WaitRequests(tb testing.TB, n int, timeout time.Duration) []Request {
	tb.Helper()
	s.waitCount(tb, n, timeout, "requests", func() int { return len(s.requests) })
	return s.Requests()
}

// WaitFor returns as soon as cond holds, which is asked again after every change: a request that
// arrived or was concluded. It fails the test when cond does not hold after timeout; what names it there.
func (s *Server) WaitFor(tb testing.TB, timeout time.Duration, what string, cond func(*Server) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for {
		s.mu.Lock()
		wake := s.wake
		s.mu.Unlock()
		if cond(s) {
			return
		}
		select {
		case <-wake:
		case <-ctx.Done():
			tb.Fatalf("otlptest: after %v: still not %s", timeout, what)
		}
	}
}
