// Package connpool bounds the HTTP requests that a process has under way, and measures how long they queue for a
// place.
//
// [http.Transport] can bound the connections to one host, but not their total, and it does not tell how long a
// request waited for one. [Transport] is an [http.RoundTripper] that owns both limits. It sits above any other
// RoundTripper, so that what it measures is the wait and nothing else: no dialling, no TLS, no server time.
//
//	metrics, err := connpool.NewMetrics(meter)       // once per meter
//	pool, err := connpool.New(nil, connpool.Limits{Total: 512, PerHost: 64}, metrics)
//	client := &http.Client{Transport: pool}
//
//	ctx = connpool.WithDestination(ctx, "policy_model")
//	req, err := http.NewRequestWithContext(ctx, ...)
//
// # What a slot is
//
// A request takes one slot of the total and one of its host (scheme, host name and port) before the RoundTripper
// below sees it. It keeps both until its response body has been read to the end or closed, until the request's context
// has ended, or until the round trip failed: exactly once, whichever comes first. A body of which nothing of this
// becomes true keeps its slot for ever, just as it keeps its connection in net/http. A connection that has switched
// protocols belongs to the caller, who closes it; its context plays no part. Idle connections hold no slot. With HTTP/2 many
// requests share a connection; the limits then bound requests, not connections. Each hop of a redirect and each
// retry by the caller takes its own slot; a reconnect inside [http.Transport] keeps the slot it has.
//
// Those who wait are served in their order, first for their host and then for the total. A place is handed to the
// one who waits, so a newcomer cannot take it away.
//
// # What is measured
//
//   - gym.http.connection_pool.queue_duration_ms, a histogram in ms: one sample for each acquisition that had to
//     wait. Attributes: nemo.gym.http.connection_pool.queue_constraint (total, per_host), judged when the wait
//     starts; nemo.gym.http.connection_pool.queue_outcome (ok, or abandoned when the request's context ended
//     first); nemo.gym.http.destination.server.name.
//   - gym.http.connection_pool.connect_total, an observable counter by destination: every acquisition, failed and
//     abandoned ones too. The totals belong to the process, so they outlive a pool that is replaced.
//
// The share of requests that queued is the count of the first over the second.
//
// # Differences from the reference
//
// The names, attributes and bucket bounds are those of NeMo Gym 0.5.1. Gym hooks into a private method of its
// HTTP client, and reports the constraint "unknown" when that fails. Here the limiter is our own, so the constraint
// is exact and "unknown" never occurs. No parity is claimed beyond what is written here.
package connpool
