// Package lenshttp traces HTTP servers and clients, on otelhttp, as long as a
// span group is on.
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("GET /items/{id}", item)
//	http.ListenAndServe(addr, lenshttp.NewHandler(mux, "server"))
//
//	client := &http.Client{Transport: lenshttp.NewTransport(nil, "http_client")}
//
// [NewHandler] and [Middleware] make a SERVER span of every request and adopt
// the caller's traceparent. [NewTransport] makes a CLIENT span of every request
// that is sent and names it in the traceparent header; [NewClient] makes one of
// everything that one call leads to, retries and redirects.
//
// The gate is read for every request. While the group is off the bare handler
// or transport runs, nothing is allocated, and no header is read or sent: a
// trace ends there. [WithAlwaysPropagate] hands it on all the same.
//
// # What a span says
//
// Names are "METHOD route" for servers, with the pattern that [http.ServeMux]
// chose, and "METHOD" for clients and for requests without a route; see
// [WithSpanName] and [WithRoute]. Attributes are those of OpenTelemetry's HTTP
// semantic conventions. Query, fragment and user information of a URL are never
// recorded, nor is any header but User-Agent and the first address of
// X-Forwarded-For; error texts are cleaned of them, and of what a server
// answered.
//
// A server span is an error from 500, a client span from 400 and when there is
// no answer; see [WithErrorStatus]. A cancelled request is not an error, one
// that ran out of time is. A request that nobody waits for any more, or whose
// connection was taken over, has no status code, as none was sent.
//
// # Panics
//
// A panic in a handler becomes an exception event with its stack, unless a span
// further in has recorded it, and makes the span an error; the same value goes
// on panicking. [http.ErrAbortHandler] is how a handler cuts an answer short on
// purpose, a reverse proxy whose caller has left for example: the span gets the
// event "response aborted" and is no error. A request that panicked is in none
// of otelhttp's metrics.
//
// # What is kept
//
// The writer that a handler gets has the optional interfaces of the one that
// the server made, neither more nor fewer, and [http.ResponseController] works:
// streams, server-sent events, upgrades, trailers and informational answers are
// as they were. The caller's request is not changed.
//
// In a build with the tag lens_noop there are no spans and no metrics. Handlers
// and transports still hand the trace context on, as with [WithAlwaysPropagate]
// but heeding the filters, in the formats of [WithPropagators] or else W3C, so
// that a service that is built without lens does not cut the traces of others.
//
// Everything here is safe for concurrent use.
package lenshttp
