//go:build lens_noop

package lenshttp

import (
	"context"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/propagation"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/web/served"
	"github.com/nemo-lens/lens/internal/web/w3c"
	"github.com/nemo-lens/lens/internal/web/w3c/propagator"
)

// This build records nothing, and still hands the trace context of others on: a
// service that is built without lens is no end of a trace.

type handler struct {
	config
	next   http.Handler
	fields []string // in their canonical form
}

// NewHandler returns a handler that makes no span in this build. Requests that
// bring a trace context are served with it, except those that a filter leaves
// alone, and all with [WithPublicEndpoint], whose callers are not trusted to
// choose the trace. A nil next means [http.DefaultServeMux].
func NewHandler(next http.Handler, _ lens.SpanGroup, opts ...Option) http.Handler {
	if next == nil {
		next = http.DefaultServeMux
	}
	h := &handler{config: newConfig(opts), next: next}
	h.propagators = oneValue{h.formats()}
	for _, field := range h.propagators.Fields() {
		h.fields = append(h.fields, http.CanonicalHeaderKey(field))
	}
	return h
}

// Middleware is [NewHandler] in the form that routers take.
func Middleware(group lens.SpanGroup, opts ...Option) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return NewHandler(next, group, opts...) }
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := slices.ContainsFunc(h.fields, func(field string) bool { return len(r.Header[field]) > 0 })
	if !sent || h.public || !h.handsOn(r) {
		h.next.ServeHTTP(w, r)
		return
	}
	inner := r.WithContext(h.propagators.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
	defer served.TakeOver(r, inner)
	h.next.ServeHTTP(w, inner)
}

// CarryRoute returns next in this build: no span waits for a route.
func CarryRoute(next http.Handler) http.Handler { return next }

type transport struct {
	config
	base http.RoundTripper
	w3c  bool // in that format
}

// NewTransport returns a transport that makes no span in this build, and sends
// the trace context that the request's context holds, except with requests that
// a filter leaves alone. The request is not changed. A nil base means
// [http.DefaultTransport].
func NewTransport(base http.RoundTripper, _ lens.SpanGroup, opts ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{config: newConfig(opts), base: base}
	t.w3c = t.propagators == nil
	t.propagators = t.formats()
	return t
}

// CloseIdleConnections does so when the base can, for [http.Client].
func (t *transport) CloseIdleConnections() { closeIdle(t.base) }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.handsOn(r) || t.w3c && !w3c.Carries(r.Context()) {
		return t.base.RoundTrip(r)
	}
	carrier := propagation.MapCarrier{}
	t.propagators.Inject(r.Context(), carrier)
	if len(carrier) == 0 {
		return t.base.RoundTrip(r)
	}
	sent := r.WithContext(r.Context())
	if sent.Header = r.Header.Clone(); sent.Header == nil {
		sent.Header = http.Header{}
	}
	for name, value := range carrier {
		sent.Header.Set(name, value)
	}
	res, err := t.base.RoundTrip(sent)
	if res != nil && res.Request == sent {
		res.Request = r
	}
	return res, err
}

// formats are those of [WithPropagators], else W3C: without the SDK nobody asks
// for OpenTelemetry's global ones.
func (c *config) formats() propagation.TextMapPropagator {
	if c.propagators != nil {
		return c.propagators
	}
	return propagator.W3C
}

// handsOn reports whether the trace context of the request goes further.
func (c *config) handsOn(r *http.Request) bool { return c.propagate || c.wants(r) }

// oneValue reads no trace from several values of one header, whatever the format.
type oneValue struct{ propagation.TextMapPropagator }

func (p oneValue) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return p.TextMapPropagator.Extract(ctx, propagator.OneValue(carrier))
}

// ControlHandler returns a handler that says that there is nothing to see or change in
// this build.
func ControlHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = w.Write([]byte(`{"error": "this program was built with the tag lens_noop: it records nothing"}` + "\n"))
	})
}
