package gym

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nemo-lens/lens/internal/web/resend"
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

	// Wait is the time before the n-th resend, counted from 1. Without it
	// the time starts at 100 ms and doubles, and up to half of it is left out
	// at random. A Retry-After of the server takes its place.
	Wait func(n int) time.Duration

	// MaxWait bounds every wait; 0 means 5 s. A Retry-After beyond it ends
	// the attempts.
	MaxWait time.Duration

	// On decides whether an outcome calls for another attempt: either err or
	// res is nil. It is not asked when the request's context is done. Without it
	// these are errors and the codes 429, 502, 503 and 504, for requests that
	// are idempotent by their method or have an Idempotency-Key.
	On func(req *http.Request, res *http.Response, err error) bool
}

// RetryTransport sends a request again as r says. A nil base means
// [http.DefaultTransport]. Put [Transport] above it, so that all attempts are in
// one span, which has an event "resend" for each of them. The retries work
// whether telemetry is on or off.
//
// While metrics are exported each resend is counted in gym.http.retry_total, by
// why: server_disconnected, client_os_error, timeout or other, which is every
// answer that called for it.
func RetryTransport(base http.RoundTripper, r Retry) http.RoundTripper {
	if r.Attempts == 0 {
		r.Attempts = 3
	}
	if r.MaxWait == 0 {
		r.MaxWait = 5 * time.Second
	}
	if r.Wait == nil {
		r.Wait = backoff
	}
	if r.On == nil {
		r.On = transient
	}
	return counting(&retrying{policy: r, base: counting(base)})
}

func backoff(n int) time.Duration {
	d := 100 * time.Millisecond << min(n-1, 20)
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
	base   *counted
}

func (t *retrying) CloseIdleConnections() { t.base.CloseIdleConnections() }

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
		resend.Note(req.Context(), sent, res, err)
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

// wait returns how long to wait, and false when that would be too long.
func (t *retrying) wait(ctx context.Context, n int, res *http.Response) (time.Duration, bool) {
	d := min(t.policy.Wait(n), t.policy.MaxWait)
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
