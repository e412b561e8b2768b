// Package otlp builds the exporters that send spans, metrics and log records to an
// OTLP receiver, over gRPC or HTTP, from settings that are resolved already
// ([settings.OTLP]).
//
// No environment variable has any part in it, but for the proxy variables that
// net/http and grpc-go follow (HTTPS_PROXY, HTTP_PROXY for plaintext over HTTP,
// NO_PROXY).
//
// Spans are written in their encoding here, and over gRPC leave through the client of
// otlptracegrpc, over a connection made here, with its retries off. That client reads
// OTEL_EXPORTER_OTLP_*, whatever it is told; where it would do more with it than read, it
// is passed over, see upstream.go. Metrics and log records, and everything over HTTP,
// leave through wire clients here: they have the same rules without an exception.
//
// What holds for all exporters:
//   - Making one checks the certificate files and does nothing else: no goroutine,
//     no look-up, no connection. The first export connects.
//   - One export, with all its retries, ends within Timeout. Only what can pass is
//     tried again: no connection, a time-out, and the codes that OTLP names as
//     retryable (over HTTP 429, 502, 503, 504). The pause doubles from 250 ms to 5 s,
//     with jitter, so that a fleet does not come back in step.
//   - A receiver that says when to come back is left alone until then, at most for
//     a minute, by later exports too. They wait, which leaves their successors in
//     the queue.
//   - Redirects are not followed.
//   - Errors are of type [*Error], or [*PartialError] when the receiver took a part, or
//     outcome.LossError when a batch went in several requests and some were not taken.
//     Their text holds the endpoint, the code and often the remedy, and nothing that
//     the receiver wrote, as that may repeat what was sent to it.
//   - Shutdown waits for exports under way until its context is done and then
//     cancels them; afterwards no goroutine and no connection is left. Shutting down
//     twice does nothing.
//
// Exporters are safe for concurrent use. Nothing process-wide is set, except that
// grpc-go's gzip registers itself when it is linked.
package otlp
