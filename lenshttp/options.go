package lenshttp

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
)

// Option changes how a handler, a transport or a client works. An option that
// has no meaning for what it is given to changes nothing.
type Option func(*config)

type config struct {
	filters     []func(*http.Request) bool
	propagate   bool
	propagators propagation.TextMapPropagator
	meters      metric.MeterProvider
	scope       string
	public      bool
	address     string

	name        func(*http.Request) string
	route       func(*http.Request) string
	attributes  func(*http.Request) []attribute.KeyValue
	errorStatus func(code int) bool
}

func newConfig(opts []Option) config {
	var c config
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	return c
}

// wants reports whether the filters let the request have a span.
func (c *config) wants(r *http.Request) bool {
	for _, trace := range c.filters {
		if !trace(r) {
			return false
		}
	}
	return true
}

// WithFilter leaves requests for which trace returns false alone: they run as
// if the group were off. Given several times, all of them have to agree. The
// function is called only while the group is on.
func WithFilter(trace func(*http.Request) bool) Option {
	return func(c *config) {
		if trace != nil {
			c.filters = append(c.filters, trace)
		}
	}
}

// WithExcludedPaths leaves requests for these paths alone, for example
// "/healthz". As in [http.ServeMux], a path that ends in "/" stands for
// everything below it, too.
func WithExcludedPaths(paths ...string) Option {
	return WithFilter(func(r *http.Request) bool {
		if r.URL == nil {
			return true
		}
		for _, p := range paths {
			if r.URL.Path == p || p != "" && strings.HasSuffix(p, "/") && strings.HasPrefix(r.URL.Path, p) {
				return false
			}
		}
		return true
	})
}

// WithAlwaysPropagate hands the trace context on for requests that have no
// span of their own, because the group is off or a filter left them alone: a
// handler's context holds what the caller sent, and a transport sends what its
// context holds. Without it such a request neither reads nor gets a header.
func WithAlwaysPropagate() Option { return func(c *config) { c.propagate = true } }

// WithPropagators sets the formats of the trace context. Without it they are
// OpenTelemetry's global ones at the time of the request, once the application or
// SetupTelemetry has installed them, and before that the W3C trace context and
// baggage. Baggage goes to whoever a transport calls: give trace context alone
// where that is not wanted.
func WithPropagators(p propagation.TextMapPropagator) Option {
	return func(c *config) { c.propagators = p }
}

// WithMeterProvider records the HTTP metrics of OpenTelemetry's semantic
// conventions, for requests that get a span. Without it there are none. Those of
// a handler have no server.address and server.port, because a caller chooses
// them with its Host header; see [WithServerAddress].
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithServerAddress says under which name, with or without a port, callers know
// the server: it becomes server.address and server.port on a handler's metrics
// and spans. Without it the metrics have neither, and a span has what the Host
// header says.
func WithServerAddress(address string) Option { return func(c *config) { c.address = address } }

// WithScope sets the instrumentation scope of the spans. Without it they have
// that of otelhttp, which makes them.
func WithScope(name string) Option { return func(c *config) { c.scope = name } }

// WithPublicEndpoint makes every span of a handler the root of a trace of its
// own, with a link to the span that the caller named. It is for servers whose
// callers are not trusted to choose trace ids and sampling.
func WithPublicEndpoint() Option { return func(c *config) { c.public = true } }

// WithSpanName names spans with f instead of "METHOD route" for a handler and
// "METHOD" for a transport. The names must be few: no path, no id. A handler
// calls f before the request is routed and once more when it is finished, when
// its Pattern is known. [MethodName] is the reference implementation's form.
func WithSpanName(f func(*http.Request) string) Option { return func(c *config) { c.name = f } }

// MethodName returns "HTTP " and the request's method, "HTTP GET" for example;
// "HTTP" alone for a method that is not one of the standard ones.
func MethodName(r *http.Request) string {
	if m := method(r); m != "HTTP" {
		return "HTTP " + m
	}
	return "HTTP"
}

// WithRoute finds the route of a request that a handler has finished, for
// routers other than [http.ServeMux]; for a ServeMux that gets a copy of the
// request there is [CarryRoute]. It is asked before the request's Pattern; ""
// means that it does not know. The form is that of Pattern: "/items/{id}", with or without a
// method before it.
func WithRoute(f func(*http.Request) string) Option { return func(c *config) { c.route = f } }

// WithAttributes sets what f returns on every span, at its start.
func WithAttributes(f func(*http.Request) []attribute.KeyValue) Option {
	return func(c *config) { c.attributes = f }
}

// WithErrorStatus decides which response codes make a span an error. Without
// it they are those from 500 for a handler, and from 400 for a transport.
func WithErrorStatus(isError func(code int) bool) Option {
	return func(c *config) { c.errorStatus = isError }
}

// method returns the request's method in upper case, "HTTP" when it is not one
// of the standard ones: a span's name must not be the caller's to choose.
func method(r *http.Request) string {
	switch m := strings.ToUpper(r.Method); m {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return m
	}
	return "HTTP"
}
