//go:build !lens_noop

package lenshttp

import (
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/web/resend"
)

type transport struct {
	config
	base   http.RoundTripper
	group  lens.SpanGroup
	traced http.RoundTripper
}

// NewTransport returns a transport that makes a client span of every request
// and sends its trace context while the group is on, and is base but for one
// look at the gate while it is off. A nil base means [http.DefaultTransport].
//
// The request is not changed. The span ends when the response's body has been
// read to its end, has failed or is closed, when the request's context ends, or
// when a body that nobody closed is collected as garbage; without a body, when
// RoundTrip returns.
func NewTransport(base http.RoundTripper, group lens.SpanGroup, opts ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{config: newConfig(opts), base: base, group: group}
	if t.errorStatus == nil {
		t.errorStatus = func(code int) bool { return code >= 400 }
	}
	t.traced = otelhttp.NewTransport(exchange{t.base}, t.otelOptions(group, func(t trace.Tracer) trace.Tracer { return clientTracer{t} })...)
	return t
}

// CloseIdleConnections does so when the base can, for [http.Client].
func (t *transport) CloseIdleConnections() { closeIdle(t.base) }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case lens.IsSpanGroupEnabled(t.group) && r.URL != nil && t.wants(r) && current(r.Context()) == nil:
		return t.trace(r)
	case t.propagate && current(r.Context()) == nil:
		return t.pass(r)
	}
	return t.base.RoundTrip(r)
}

// pass sends the request with the trace context that its context has.
func (t *transport) pass(r *http.Request) (*http.Response, error) {
	sent := r.WithContext(r.Context())
	if sent.Header = r.Header.Clone(); sent.Header == nil {
		sent.Header = http.Header{}
	}
	t.propagators.Inject(r.Context(), propagation.HeaderCarrier(sent.Header))
	res, err := t.base.RoundTrip(sent)
	if res != nil && res.Request == sent {
		res.Request = r
	}
	return res, err
}

func (t *transport) trace(r *http.Request) (*http.Response, error) {
	c := &call{config: &t.config, request: r}
	c.panics.Span = noop.Span{}
	returned := false
	defer func() {
		if !returned {
			c.panics.Span.End()
		}
	}()
	defer lens.End(&c.panics, nil)

	marked := r.WithContext(resend.With(r.Context(), c))
	if marked.Header == nil {
		marked.Header = http.Header{} // otelhttp writes to a copy of it
	}
	res, err := t.traced.RoundTrip(marked)
	returned = true
	if res != nil && res.Request == c.sent {
		res.Request = r
	}
	if err != nil {
		c.end(err)
		return res, err
	}
	c.answered(res)
	if c.body == nil || c.body == http.NoBody {
		res.Body = http.NoBody
		c.end(nil)
		return res, nil
	}
	res.Body = c.watch(c.body)
	return res, nil
}

// exchange is the base as otelhttp sees it.
type exchange struct{ http.RoundTripper }

func (e exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	c, _ := resend.From(r.Context()).(*call)
	if c == nil { // never: the transport put it there
		return e.RoundTripper.RoundTrip(r)
	}
	c.sent = r
	// A caller fills in the trailers while the body is read, so a copy of the
	// map, as otelhttp makes, would be sent empty.
	r.Trailer = c.request.Trailer
	res, err := e.RoundTripper.RoundTrip(r)
	if res != nil {
		c.body = res.Body
	}
	return res, err
}
