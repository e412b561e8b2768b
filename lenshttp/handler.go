//go:build !lens_noop

package lenshttp

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/web/served"
)

// scopeName is the scope of the metrics that this package adds to otelhttp's.
const scopeName = "github.com/nemo-lens/lens/lenshttp"

type handler struct {
	config
	next   http.Handler
	group  lens.SpanGroup
	traced func(http.Handler) http.Handler
	active *httpconv.ServerActiveRequests // nil without a meter provider
}

// NewHandler returns a handler that makes a server span of every request to
// next while the group is on, and is next but for one look at the gate while
// it is off. A nil next means [http.DefaultServeMux].
func NewHandler(next http.Handler, group lens.SpanGroup, opts ...Option) http.Handler {
	if next == nil {
		next = http.DefaultServeMux
	}
	h := &handler{config: newConfig(opts), next: next, group: group}
	if h.errorStatus == nil {
		h.errorStatus = func(code int) bool { return code >= 500 }
	}
	meters := h.meters
	if meters != nil {
		h.meters = serverMeters{meters, h.address}
	}
	options := h.otelOptions(group, func(t trace.Tracer) trace.Tracer { return serverTracer{t} })
	h.traced = otelhttp.NewMiddleware("", append(options, otelhttp.WithServerName(h.address))...)
	if meters != nil {
		active, err := httpconv.NewServerActiveRequests(meters.Meter(scopeName))
		if err != nil {
			otel.Handle(err)
		}
		h.active = &active
	}
	return h
}

// Middleware is [NewHandler] in the form that routers take.
func Middleware(group lens.SpanGroup, opts ...Option) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return NewHandler(next, group, opts...) }
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case lens.IsSpanGroupEnabled(h.group) && h.wants(r):
		h.trace(w, r)
	case h.propagate:
		h.pass(w, r)
	default:
		h.next.ServeHTTP(w, r)
	}
}

// pass serves the request without a span, in the caller's trace.
func (h *handler) pass(w http.ResponseWriter, r *http.Request) {
	inner := r.WithContext(h.propagators.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
	defer served.TakeOver(r, inner)
	h.next.ServeHTTP(w, inner)
}

// CarryRoute hands the route that the router inside next finds on to the handler
// of [NewHandler] further out, for a router that gets a copy of the request
// because something between the two adds to its context or strips a prefix. Put
// it directly around the router. Handlers of this library that copy requests do
// so by themselves.
func CarryRoute(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer served.NoteRoute(r)
		next.ServeHTTP(w, r)
	})
}

func (h *handler) trace(w http.ResponseWriter, r *http.Request) {
	if h.active != nil {
		m := httpconv.RequestMethodAttr(method(r))
		if m == "HTTP" {
			m = httpconv.RequestMethodOther
		}
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		h.active.Add(r.Context(), 1, m, scheme)
		defer h.active.Add(context.WithoutCancel(r.Context()), -1, m, scheme)
	}
	h.traced(http.HandlerFunc(func(inner http.ResponseWriter, traced *http.Request) {
		h.serve(w, inner, r, traced)
	})).ServeHTTP(w, r)
}

// serve runs next between otelhttp, which has made inner and traced of w and
// r, and the end of the span.
func (h *handler) serve(w, inner http.ResponseWriter, r, traced *http.Request) {
	span, _ := traced.Context().Value(spanKey{}).(*serverSpan)
	if span == nil { // never, as long as otelhttp starts one span a request
		h.next.ServeHTTP(inner, traced)
		return
	}
	if h.attributes != nil {
		span.Span.SetAttributes(h.attributes(r)...)
	}
	res := &span.answer
	res.Begin(r.Context())
	span.panics.Span = span.Span
	defer lens.End(&span.panics, nil)
	defer func() {
		v := recover()
		span.panics.skip = v == http.ErrAbortHandler
		served.TakeOver(r, traced)
		if v == nil {
			res.Settle(w)
		}
		h.finish(span, traced, v)
		if v != nil {
			panic(v)
		}
	}()
	h.next.ServeHTTP(res.Track(w, inner), traced)
}

// finish says on the span what became of the request; v is what the handler
// panicked with.
func (h *handler) finish(span *serverSpan, r *http.Request, v any) {
	res := &span.answer
	if r.Pattern == "" {
		r.Pattern = span.route.Pattern() // otelhttp's metrics read it there
	}
	if h.route != nil {
		if route := h.route(r); route != "" {
			r.Pattern = route
		}
	}
	span.Span.SetName(h.spanName(r))
	attrs := make([]attribute.KeyValue, 0, 4)
	if route := routeOf(r.Pattern); route != "" {
		attrs = append(attrs, semconv.HTTPRoute(route))
	}
	code := res.Status()
	if v == nil {
		code = res.Implied()
	}
	span.code = code
	if code != 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(code))
	}
	if n := res.Bytes(); n > 0 {
		attrs = append(attrs, semconv.HTTPResponseBodySize(int(n)))
	}
	switch {
	case v == http.ErrAbortHandler:
		span.AddEvent("response aborted")
	case v != nil: // lens.End sets the status
		attrs = append(attrs, semconv.ErrorTypeKey.String(fmt.Sprintf("%T", v)))
	case code != 0 && h.errorStatus(code):
		attrs = append(attrs, semconv.ErrorTypeKey.String(strconv.Itoa(code)))
		span.Span.SetStatus(codes.Error, "")
	}
	span.Span.SetAttributes(attrs...)
}

type spanKey struct{}

type serverTracer struct{ trace.Tracer }

func (t serverTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := t.Tracer.Start(ctx, name, opts...)
	s := &serverSpan{Span: span}
	return context.WithValue(served.WithRoute(ctx, &s.route), spanKey{}, s), s
}

// serverSpan is what otelhttp has in its hands: it ends the span and adds
// attributes; name, status and what was written are finish's. The rest is what
// this package needs during the request, in one piece of memory.
type serverSpan struct {
	trace.Span
	code   int // what the caller got, 0 for nothing, once the handler has returned
	route  served.Route
	answer served.Answer
	panics panicRecorder
}

func (s *serverSpan) SetName(string)               {}
func (s *serverSpan) SetStatus(codes.Code, string) {}

// End is a call of its own, so that the SDK, which recovers in an End that is
// deferred, does not record once more what lens.End has recorded.
func (s *serverSpan) End(opts ...trace.SpanEndOption) { s.Span.End(opts...) }

func (s *serverSpan) SetAttributes(attrs ...attribute.KeyValue) {
	for _, kv := range attrs {
		if kv.Key != semconv.HTTPResponseStatusCodeKey && kv.Key != semconv.HTTPResponseBodySizeKey {
			s.Span.SetAttributes(kv)
		}
	}
}
