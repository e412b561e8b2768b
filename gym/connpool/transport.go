package connpool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits bounds the requests under way at once. 0 is no limit.
type Limits struct {
	Total   int // over all hosts
	PerHost int // for one scheme, host name and port
}

// Transport is an [http.RoundTripper] with a limit on requests in total and for each host. See the package
// documentation for what a slot is. It is safe for concurrent use.
type Transport struct {
	base    http.RoundTripper
	limits  Limits
	limiter *limiter // nil without limits
	metrics *Metrics // nil: the same limits, nothing measured
}

// New puts the limits above base. A nil base is [NewBase] with the same limits. A base that has a MaxConnsPerHost
// of its own queues a second time, out of this package's sight.
//
// With nil metrics the pool is the plain one: it limits and measures nothing, and reads no clock.
func New(base http.RoundTripper, limits Limits, metrics *Metrics) (*Transport, error) {
	if limits.Total < 0 || limits.PerHost < 0 {
		return nil, fmt.Errorf("lens: connection pool limits total=%d per_host=%d: want whole numbers of at least 0, where 0 is no limit",
			limits.Total, limits.PerHost)
	}
	if base == nil {
		base = NewBase(limits)
	}
	t := &Transport{base: base, limits: limits, metrics: metrics}
	if limits != (Limits{}) {
		t.limiter = newLimiter(limits)
	}
	return t, nil
}

// NewBase returns a clone of [http.DefaultTransport] that keeps as many idle connections as limits admits, so that
// the requests of a full pool find their connections again. The default keeps two for a host.
func NewBase(limits Limits) *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if ok {
		t = t.Clone()
	} else {
		// A program that replaced the default still gets a proxy from its environment.
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	}
	t.MaxIdleConns = limits.Total
	t.MaxIdleConnsPerHost = limits.PerHost
	if limits.PerHost == 0 {
		t.MaxIdleConnsPerHost = math.MaxInt // here 0 would mean two
	}
	return t
}

// Limits returns the limits the pool was built with.
func (t *Transport) Limits() Limits { return t.limits }

// RoundTrip waits for a slot and sends the request. When the request's context ends during the wait the error is a
// [*QueueError] and nothing was sent. Cancellation by the deprecated Request.Cancel does not end the wait.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if t.metrics != nil {
		t.metrics.totals.add(Destination(ctx))
	}
	if t.limiter == nil || req.URL == nil {
		return t.base.RoundTrip(req) // base knows how to refuse a request without URL
	}
	host, w := t.limiter.acquire(keyOf(req.URL))
	if w != nil {
		if err := t.wait(ctx, w); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // the contract of RoundTripper, on errors too
			}
			return nil, err
		}
	}
	return t.send(req, host)
}

// wait blocks until w has its slot or ctx ends.
func (t *Transport) wait(ctx context.Context, w *waiter) error {
	var start time.Time
	if t.metrics != nil {
		start = time.Now()
	}
	outcome := OK
	select {
	case <-w.ready:
	case <-ctx.Done():
		// A slot that came at the same moment is used: base then reports the context's end, and the slot comes back
		// the usual way.
		if t.limiter.abandon(w) {
			outcome = Abandoned
		}
	}
	if t.metrics != nil {
		t.metrics.recordQueue(ctx, time.Since(start), w.constraint, outcome)
	}
	if outcome == Abandoned {
		return &QueueError{Constraint: w.constraint, Destination: Destination(ctx), Limits: t.limits, Err: ctx.Err()}
	}
	return nil
}

// send runs the request in its slot, and passes the slot on to the response's body.
func (t *Transport) send(req *http.Request, host *hostSlots) (*http.Response, error) {
	kept := false
	defer func() { // on an error, and when base panics
		if !kept {
			t.limiter.release(host)
		}
	}()
	resp, err := t.base.RoundTrip(req)
	if err != nil || resp == nil || resp.Body == nil || resp.Body == http.NoBody {
		return resp, err
	}
	kept = true
	resp.Body = holdSlot(req.Context(), resp.Body, t.limiter, host)
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the RoundTripper below, if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// keyOf copies nothing unless the host has upper-case letters.
func keyOf(u *url.URL) hostKey {
	key := hostKey{scheme: u.Scheme, host: strings.ToLower(u.Hostname()), port: u.Port()}
	if key.port == "" {
		switch key.scheme {
		case "http":
			key.port = "80"
		case "https":
			key.port = "443"
		}
	}
	return key
}

// QueueError is the end of a wait without a slot.
type QueueError struct {
	Constraint  Constraint // the limit that was full when the wait began
	Destination string
	Limits      Limits
	Err         error // the context's: [context.Canceled] or [context.DeadlineExceeded]
}

func (e *QueueError) Error() string {
	limit := e.Limits.Total
	if e.Constraint == PerHost {
		limit = e.Limits.PerHost
	}
	return fmt.Sprintf("lens: request to %s gave up in the queue of the connection pool (%s limit %d; raise it or allow more time): %v",
		e.Destination, e.Constraint, limit, e.Err)
}

func (e *QueueError) Unwrap() error { return e.Err }

// Timeout reports whether a deadline ended the wait; [url.Error] asks for it.
func (e *QueueError) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }
