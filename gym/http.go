package gym

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/semconv"
)

// scope is the instrumentation scope of the client spans; server spans have
// that of the HTTP instrumentation.
const scope = "nemo.gym"

// Middleware makes a server span, "<METHOD> <route>", of every request while
// the group [Server] is on, and continues the trace that the request's
// traceparent names. A request without a valid one begins a trace. A status
// from 500 makes the span an error.
//
// When metrics are exported at the moment of the call, the requests that have a
// span are also in http.server.request.duration and
// http.server.active_requests. Call it after [InitTelemetry] therefore; put
// [RolloutPath] inside it.
func Middleware(next http.Handler) http.Handler {
	var opts []lenshttp.Option
	if t := telemetryState.current.Load(); t.metricsActive() && t.meters != nil {
		opts = append(opts, lenshttp.WithMeterProvider(t.meters))
	}
	return lenshttp.NewHandler(next, Server, opts...)
}

// Transport makes a client span, "HTTP <METHOD>", of every request while the
// group [HTTPClient] is on, and sends traceparent and baggage along. While it
// is off there is neither span nor header, so that traces split between the
// processes; in a build with the tag lens_noop, which makes no span, the header
// is that of the caller. The request is not changed. A nil base means
// [http.DefaultTransport].
//
// url.full has neither query nor user; any status that came back is no error,
// only a request that failed is. Retries above a transport are spans of their
// own: see [Client].
//
// While metrics are exported the requests that ran out of time before there was
// an answer are in gym.http.timeout_total, whether the group is on or off, by
// whether [WithDestination] has named a server of the run. See [RetryTransport]
// for gym.http.retry_total.
func Transport(base http.RoundTripper) http.RoundTripper {
	return lenshttp.NewTransport(counting(base), HTTPClient, clientOptions()...)
}

// Client makes one client span, as [Transport] does, of everything that one
// call of its Do leads to: the retries of d, and redirects. A nil d means
// [http.DefaultClient]. A Transport further in adds no span. What is counted is
// as with Transport.
func Client(d lenshttp.Doer, opts ...lenshttp.Option) *lenshttp.Client {
	return lenshttp.NewClient(countingDoer(d), HTTPClient, append(clientOptions(), opts...)...)
}

func clientOptions() []lenshttp.Option {
	return []lenshttp.Option{
		lenshttp.WithScope(scope),
		lenshttp.WithSpanName(lenshttp.MethodName),
		lenshttp.WithErrorStatus(func(int) bool { return false }),
		lenshttp.WithAttributes(func(r *http.Request) []attribute.KeyValue { return rolloutAttributes(r.Context()) }),
	}
}

func rolloutAttributes(ctx context.Context) []attribute.KeyValue {
	if id := RolloutID(ctx); id != "" {
		return []attribute.KeyValue{semconv.NeMoGymRolloutIDKey.String(id)}
	}
	return nil
}

// InjectHeaders sets the headers that carry the trace of ctx, for requests that
// do not go through [Transport]: a WebSocket handshake for example. It does
// nothing while the group [HTTPClient] is off, except in a build with the tag
// lens_noop. Call it inside the span that is to be the parent.
func InjectHeaders(ctx context.Context, headers http.Header) {
	if headers == nil || !sendsTrace(ctx) {
		return
	}
	carrier := make(map[string]string, 3)
	lens.InjectContext(ctx, carrier)
	for name, value := range carrier {
		headers.Set(name, value)
	}
}
