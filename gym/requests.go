package gym

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens/gym/connpool"
	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/semconv"
)

// counted counts, while metrics are exported, the requests that ran out of time
// and those that are sent again. Several of them may be above each other: the
// innermost one counts a timeout, and the outermost one that a second request
// comes through counts the retry.
type counted struct{ base http.RoundTripper }

func counting(base http.RoundTripper) *counted {
	if base == nil {
		base = http.DefaultTransport
	}
	return &counted{base}
}

// exchange is what the layers know of one request of the outermost one.
type exchange struct {
	failed   atomic.Pointer[string] // why the last request failed, until it is sent again
	timeouts atomic.Int64
}

type exchangeKey struct{}

// The values of nemo.gym.http.retry_reason.
var (
	serverDisconnected = "server_disconnected"
	clientOSError      = "client_os_error"
	timedOut           = "timeout"
	otherReason        = labelOther
)

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if !IsMetricsExporterActive() {
		return c.base.RoundTrip(r)
	}
	return c.count(r)
}

func (c *counted) count(r *http.Request) (*http.Response, error) {
	ctx, sent := r.Context(), r
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = new(exchange)
		sent = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	}
	if why := x.failed.Swap(nil); why != nil {
		count(func(c *counters) {
			c.retries.Add(noCancel(ctx), 1, metric.WithAttributes(semconv.NeMoGymHTTPRetryReasonKey.String(*why)))
		})
	}
	before := x.timeouts.Load()
	res, err := c.base.RoundTrip(sent)
	why := failureOf(ctx, res, err)
	if why == &timedOut && x.timeouts.CompareAndSwap(before, before+1) {
		count(func(c *counters) { c.timeouts.Add(noCancel(ctx), 1, internalSet(ctx)) })
	}
	x.failed.Store(why)
	if res != nil && res.Request == sent {
		res.Request = r
	}
	return res, err
}

// CloseIdleConnections does so when the base can, for [http.Client].
func (c *counted) CloseIdleConnections() {
	if b, ok := c.base.(interface{ CloseIdleConnections() }); ok {
		b.CloseIdleConnections()
	}
}

var (
	internalRequest = metric.WithAttributeSet(attribute.NewSet(semconv.NeMoGymHTTPInternalKey.Bool(true)))
	externalRequest = metric.WithAttributeSet(attribute.NewSet(semconv.NeMoGymHTTPInternalKey.Bool(false)))
)

// internalSet tells requests to servers of the run, which have a name, from
// others.
func internalSet(ctx context.Context) metric.MeasurementOption {
	switch connpool.Destination(ctx) {
	case DestinationExternal, DestinationRemoteAgent:
		return externalRequest
	}
	return internalRequest
}

// failureOf returns why a request that is sent again is, or nil.
func failureOf(ctx context.Context, res *http.Response, err error) *string {
	if err == nil {
		if res != nil && (res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests ||
			res.StatusCode == http.StatusRequestTimeout || res.StatusCode == http.StatusTooEarly) {
			return &otherReason
		}
		return nil
	}
	// At its Timeout an http.Client also cancels the request in a way of its own,
	// and either can be seen first; the context has that deadline.
	deadline, limited := ctx.Deadline()
	if isTimeout(err) || isTimeout(context.Cause(ctx)) || limited && !time.Now().Before(deadline) {
		return &timedOut
	}
	// net/http has no exported error for a kept connection that the server closed.
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "server closed idle connection") {
		return &serverDisconnected
	}
	var (
		number syscall.Errno
		call   *os.SyscallError
		op     *net.OpError
		dns    *net.DNSError
	)
	if errors.As(err, &number) || errors.As(err, &call) || errors.As(err, &op) || errors.As(err, &dns) {
		return &clientOSError
	}
	return &otherReason
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// countedDoer is counted for what sends without being a RoundTripper.
type countedDoer struct{ counted }

func countingDoer(d lenshttp.Doer) lenshttp.Doer {
	if d == nil {
		d = http.DefaultClient
	}
	return &countedDoer{counted{doer{d}}}
}

func (c *countedDoer) Do(r *http.Request) (*http.Response, error) { return c.RoundTrip(r) }

type doer struct{ lenshttp.Doer }

func (d doer) RoundTrip(r *http.Request) (*http.Response, error) { return d.Do(r) }

func (d doer) CloseIdleConnections() {
	if c, ok := d.Doer.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
