package otlptest

import "strings"

// The limits of a Collector with default settings.
const (
	defaultGRPCLimit = 4 << 20
	defaultHTTPLimit = 20 << 20
)

// Option shapes a server at Start.
type Option func(*settings)

type settings struct {
	grpcLimit  int
	httpLimit  int
	paths      map[string]Signal
	countOnly  bool
	tls        bool
	clientCert bool
}

func newSettings(opts []Option) settings {
	set := settings{
		grpcLimit: defaultGRPCLimit,
		httpLimit: defaultHTTPLimit,
		paths:     map[string]Signal{"/v1/traces": Traces, "/v1/metrics": Metrics, "/v1/logs": Logs},
	}
	for _, o := range opts {
		o(&set)
	}
	return set
}

// WithTLS serves both protocols over TLS, with a certificate for 127.0.0.1, ::1 and localhost signed by
// an authority made for this server. See [Server.CAFile].
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithClientCert is [WithTLS] and demands a client certificate signed by the same authority. See
// [Server.ClientCertFiles].
func WithClientCert() Option {
	return func(s *settings) { s.tls, s.clientCert = true, true }
}

// WithMaxRequestBytes limits a request, after decompression, to n bytes: over gRPC by the server's own
// maximum message size, over HTTP by status 413. Without it the limits are a Collector's: 4 MiB and
// 20 MiB. [MaxRequestBytes] sets a lower limit while the server runs.
func WithMaxRequestBytes(n int) Option {
	return func(s *settings) { s.grpcLimit, s.httpLimit = n, n }
}

// WithHTTPPath serves signal at path too, beside /v1/traces, /v1/metrics and /v1/logs.
func WithHTTPPath(signal Signal, path string) Option {
	return func(s *settings) { s.paths["/"+strings.TrimPrefix(path, "/")] = signal }
}

// WithCountOnly makes the server count what it accepts and keep neither items nor requests: for
// benchmarks and floods.
// Everything is still decoded.
func WithCountOnly() Option { return func(s *settings) { s.countOnly = true } }
