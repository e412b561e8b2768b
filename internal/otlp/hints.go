package otlp

import (
	"net/http"
	"net/url"

	"github.com/nemo-lens/lens/internal/otelenv"
)

// These name what to change, by the variable where the setting came from one.

func endpointName(o otelenv.OTLP) string { return named(o.Source.Endpoint, "the endpoint") }

func named(variable, otherwise string) string {
	if variable != "" {
		return variable
	}
	return otherwise
}

func hintPlaintextServer(o otelenv.OTLP) string {
	return "the receiver does not speak TLS: write http:// at the beginning of " + endpointName(o) + " for plaintext"
}

func hintTLSServer(o otelenv.OTLP) string {
	return "the receiver may want TLS: write https:// at the beginning of " + endpointName(o)
}

func hintCertificate(o otelenv.OTLP) string {
	return "name the receiver's authority in " + named(o.Source.Certificate, "OTEL_EXPORTER_OTLP_CERTIFICATE")
}

func hintProtocol(o otelenv.OTLP) string {
	other := otelenv.HTTPProtobuf
	if o.Protocol == other {
		other = otelenv.GRPC
	}
	return "the receiver may speak the other protocol: set " + named(o.Source.Protocol, "OTEL_EXPORTER_OTLP_PROTOCOL") +
		" to " + string(other) + ", with the port that belongs to it"
}

func hintHeaders(o otelenv.OTLP) string {
	return "check the credentials in " + named(o.Source.Headers, "OTEL_EXPORTER_OTLP_HEADERS")
}

func hintPath(o otelenv.OTLP) string {
	return "check the path in " + endpointName(o) + "; receivers by convention have /v1/" + string(o.Signal)
}

// proxy says that requests go through one, or nothing. It is asked after a failure
// only, as the first question makes net/http read the environment for good.
func (c *client) proxy() string {
	o := c.settings
	if o.Endpoint.Host == "" {
		return ""
	}
	u := &url.URL{Scheme: "https", Host: o.Endpoint.Host} // as grpc-go asks, whatever the TLS mode
	variables := "HTTPS_PROXY"
	if o.Protocol == otelenv.HTTPProtobuf && o.Insecure {
		u.Scheme, variables = "http", "HTTP_PROXY"
	}
	p, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || p == nil {
		return ""
	}
	return "the connection goes through the proxy " + p.Host + " (" + variables + "; NO_PROXY lists exceptions)"
}
