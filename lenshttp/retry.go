package lenshttp

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nemo-lens/lens/internal/web/httpbody"
)

// Retry says when and how often a request is sent again. The zero value sends
// an idempotent request up to three times.
//
// A request whose body cannot be read again is sent once: give it a GetBody,
// as [http.NewRequest] does for buffers. A response that is given up for
// another attempt is read to its end, up to 64 KiB and for up to a second, so
// that its connection can be used again, and closed. When the time left until
// the context's deadline is shorter than the wait, the last outcome is returned
// at once.
type Retry struct {
	// Attempts is how often a request is sent at most; 0 means 3.
	Attempts int

	// Timeout bounds each attempt until the head of its response has come; the
	// body may take longer. An attempt that ran out of it is an error like any
	// other, which [http.Client] and [net.Error] call a timeout. 0 means a minute
	// for requests that are idempotent by their method or have an
	// Idempotency-Key and may be sent again, and no limit for others, which may be
	// long calls of a model. Less than 0 means no limit. A deadline of the context that comes
	// before it leaves no time for a second attempt.
	Timeout time.Duration

	// Wait is the time before the resend-th resend, counted from 1. Without it
	// the time starts at 100 ms and doubles, and up to half of it is left out
	// at random. A Retry-After of the server takes its place.
	Wait func(resend int) time.Duration

	// MaxWait bounds every wait; 0 means 5 s. A Retry-After beyond it ends
	// the attempts.
	MaxWait time.Duration

	// On decides whether an outcome calls for another attempt: either err or
	// res is nil. It is not asked when the request's context is done. Without it
	// these are errors and the codes 429, 502, 503 and 504, for requests that
	// are idempotent by their method or have an Idempotency-Key.
	On func(req *http.Request, res *http.Response, err error) bool
}

// RoundTripper returns base with the retries in front. A nil base means
// [http.DefaultTransport].
func (p Retry) RoundTripper(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	if p.Attempts == 0 {
		p.Attempts = 3
	}
	if p.MaxWait == 0 {
		p.MaxWait = 5 * time.Second
	}
	if p.Wait == nil {
		p.Wait = backoff
	}
	if p.On == nil {
		p.On = transient
	}
	return &retrying{policy: p, base: base}
}

func backoff(resend int) time.Duration {
	d := 100 * time.Millisecond << min(resend-1, 20)
	return d - rand.N(d/2)
}

func transient(req *http.Request, res *http.Response, err error) bool {
	if !idempotent(req) {
		return false
	}
	return err != nil || slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout}, res.StatusCode)
}

func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get("Idempotency-Key") != ""
}

type retrying struct {
	policy Retry
	base   http.RoundTripper
}

func (t *retrying) CloseIdleConnections() { closeIdle(t.base) }

func (t *retrying) RoundTrip(req *http.Request) (*http.Response, error) {
	attempt := req
	for sent := 1; ; sent++ {
		res, err := t.send(attempt, sent)
		if res != nil && res.Request == attempt {
			res.Request = req
		}
		if sent >= t.policy.Attempts || req.Context().Err() != nil || !t.policy.On(req, res, err) {
			return res, err
		}
		wait, ok := t.wait(req.Context(), sent, res)
		if !ok {
			return res, err
		}
		next, ok := again(req)
		if !ok {
			return res, err
		}
		noteResend(req.Context(), sent, res, err)
		if res != nil && res.Body != nil {
			drain(req.Context(), res.Body)
		}
		if err := sleep(req.Context(), wait); err != nil {
			if next.Body != nil {
				_ = next.Body.Close()
			}
			return nil, err
		}
		attempt = next
	}
}

const (
	defaultTimeout = time.Minute
	drainBytes     = 64 << 10
	drainTime      = time.Second
)

// send sends the request once, within the time of an attempt.
func (t *retrying) send(req *http.Request, attempt int) (*http.Response, error) {
	limit := t.policy.Timeout
	if limit <= 0 && t.policy.Attempts == 1 {
		return t.base.RoundTrip(req) // nothing can be gained by giving up early
	}
	if limit == 0 && idempotent(req) {
		limit = defaultTimeout
	}
	if limit <= 0 {
		limit = math.MaxInt64 // the context is still needed, to end the drain of a body
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	late := &attemptTimeout{limit, attempt, t.policy.Attempts}
	timer := time.AfterFunc(limit, func() { cancel(late) })
	own := req.WithContext(ctx)
	res, err := t.base.RoundTrip(own)
	if !timer.Stop() {
		<-ctx.Done() // the timer's function may still be on its way
	}
	if res != nil && res.Request == own {
		res.Request = req
	}
	answered := err == nil && res != nil && res.Body != nil && res.Body != http.NoBody
	if context.Cause(ctx) == error(late) {
		if answered { // it came at the same moment and is cut short
			_ = res.Body.Close()
		}
		return nil, late
	}
	if !answered {
		cancel(nil)
		return res, err
	}
	res.Body = httpbody.Like(res.Body, &attemptBody{res.Body, cancel})
	return res, nil
}

// attemptBody ends the context of its attempt.
type attemptBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *attemptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cancel(nil)
	}
	return n, err
}

func (b *attemptBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

func (b *attemptBody) abandon() { b.cancel(nil) }

// attemptTimeout is the end of an attempt without an answer.
type attemptTimeout struct {
	limit             time.Duration
	attempt, attempts int
}

func (e *attemptTimeout) Error() string {
	return fmt.Sprintf("lens: no answer within %v in attempt %d of %d; set Retry.Timeout to allow more time", e.limit, e.attempt, e.attempts)
}

func (e *attemptTimeout) Timeout() bool   { return true }
func (e *attemptTimeout) Temporary() bool { return true }

// drain reads what is left of a response, so that its connection can be used
// again, and closes it. One that stalls is given up: the connection is closed
// with the attempt's context.
func drain(ctx context.Context, body io.ReadCloser) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.CopyN(io.Discard, body, drainBytes)
		_ = body.Close()
	}()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	if b, ok := body.(interface{ abandon() }); ok {
		b.abandon()
	}
}

// wait returns how long to wait, and false when that would be too long.
func (t *retrying) wait(ctx context.Context, resend int, res *http.Response) (time.Duration, bool) {
	d := min(t.policy.Wait(resend), t.policy.MaxWait)
	if asked, ok := retryAfter(res); ok {
		if asked > t.policy.MaxWait {
			return 0, false
		}
		d = asked
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return 0, false
	}
	return d, true
}

// retryAfter reads the two forms of the header: seconds and a date.
func retryAfter(res *http.Response) (time.Duration, bool) {
	if res == nil {
		return 0, false
	}
	v := res.Header.Get("Retry-After")
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second, true
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// again returns a request like req whose body is at its start.
func again(req *http.Request) (*http.Request, bool) {
	next := *req
	if req.Body == nil || req.Body == http.NoBody {
		return &next, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	next.Body = body
	return &next, true
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
