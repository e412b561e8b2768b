package otlp

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/nemo-lens/lens/internal/settings"
)

// These name what to change, in the mode that the settings were given in.

func hintPlaintextServer(o settings.OTLP) string {
	return "the receiver does not speak TLS: write http:// at the beginning of " + o.Names.Endpoint + " for plaintext"
}

func hintTLSServer(o settings.OTLP) string {
	return "the receiver may want TLS: write https:// at the beginning of " + o.Names.Endpoint
}

func hintCertificate(o settings.OTLP) string {
	return "name the receiver's authority in " + o.Names.Certificate
}

// hintClientCertificate is for a receiver that refuses who the client is, in the text
// of its alert; empty for anything else.
func hintClientCertificate(o settings.OTLP, said string) string {
	for _, alert := range []string{"tls: certificate required", "tls: bad certificate", "tls: unknown certificate", "tls: unsupported certificate"} {
		if strings.Contains(said, "remote error: "+alert) {
			return "the receiver wants a client certificate that it knows: name it in " + o.Names.ClientCertificate + " and its key in " + o.Names.ClientKey
		}
	}
	return ""
}

// hintSignal is for a receiver that has no place for the signal.
func hintSignal(o settings.OTLP) string {
	things := string(o.Signal)
	if o.Signal == settings.Traces {
		things = "spans"
	}
	return "this receiver takes no " + things + ": set " + o.Names.Off + " to stop sending them"
}

func hintProtocol(o settings.OTLP) string {
	other := settings.HTTPProtobuf
	if o.Protocol == other {
		other = settings.GRPC
	}
	return "the receiver may speak the other protocol: set " + o.Names.Protocol +
		" to " + string(other) + ", with the port that belongs to it"
}

func hintHeaders(o settings.OTLP) string {
	return "check the credentials in " + o.Names.Headers
}

func hintPath(o settings.OTLP) string {
	return "check the path in " + o.Names.Endpoint + "; receivers by convention have /v1/" + string(o.Signal)
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
	if o.Protocol == settings.HTTPProtobuf && o.Insecure {
		u.Scheme, variables = "http", "HTTP_PROXY"
	}
	p, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || p == nil {
		return ""
	}
	return "the connection goes through the proxy " + p.Host + " (" + variables + "; NO_PROXY lists exceptions)"
}
