package gym

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/nemo-lens/lens/internal/web/httpbody"
)

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
	return fmt.Sprintf("gym: no answer within %v in attempt %d of %d; set Retry.Timeout to allow more time", e.limit, e.attempt, e.attempts)
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
