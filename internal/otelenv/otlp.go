package otelenv

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Signal is a kind of telemetry, in the word that OTLP paths use.
type Signal string

// The signals.
const (
	Traces  Signal = "traces"
	Metrics Signal = "metrics"
	Logs    Signal = "logs"
)

// Protocol is a transport of OTLP.
type Protocol string

// The protocols.
const (
	GRPC         Protocol = "grpc"
	HTTPProtobuf Protocol = "http/protobuf"
)

// Compression values of [OTLP].
const (
	NoCompression = ""
	Gzip          = "gzip"
)

// Limits and default of [OTLP.Timeout].
const (
	DefaultTimeout = 10 * time.Second
	MinTimeout     = time.Millisecond
	MaxTimeout     = 10 * time.Minute
)

// OTLP is everything that an exporter of one signal needs, resolved: nothing in
// it is looked up again.
type OTLP struct {
	Signal   Signal
	Protocol Protocol
	Endpoint Endpoint

	// Insecure is true for plaintext and false for TLS.
	Insecure bool

	// Files of TLS, none when empty: authorities to trust instead of the
	// system's, and what the client shows of itself. They are not opened here.
	CertificateFile       string
	ClientCertificateFile string
	ClientKeyFile         string

	Headers     []Header
	Compression string // NoCompression or Gzip

	// Timeout bounds one export with all its retries; it is never zero or less.
	Timeout time.Duration

	// Source says which variables these settings came from.
	Source Source
}

// Source names the variable behind each setting, or is empty where the setting
// is a default or was given in code.
type Source struct {
	Protocol, Endpoint, Insecure              string
	Certificate, ClientCertificate, ClientKey string
	Headers, Compression, Timeout             string
}

// variables returns the names of a setting, that of the signal first.
func (s Signal) variables(suffix string) []string {
	return []string{
		"OTEL_EXPORTER_OTLP_" + strings.ToUpper(string(s)) + "_" + suffix,
		"OTEL_EXPORTER_OTLP_" + suffix,
	}
}

// Signals are all of them, in the order in which they are reported.
var Signals = []Signal{Traces, Metrics, Logs}

// EndpointVariable returns the name of the variable that gives the signal an endpoint,
// and whether it is for this signal alone; the name is empty when none is set.
func EndpointVariable(signal Signal, lookup Lookup) (name string, alone bool) {
	names := signal.variables("ENDPOINT")
	name = first(lookup, names...).name
	return name, name == names[0]
}

// ParseOTLP resolves the OTEL_EXPORTER_OTLP_* variables of a signal.
//
// Endpoint. Accepted are http://host:port, https://host:port, grpc://host:port,
// grpcs://host:port, dns:///host:port and host:port, and for gRPC also
// unix:///path. The host is a name, an IPv4 address or an IPv6 address in
// brackets. Schemes are read in any case. User-info, a query, a fragment, an
// unknown scheme, an empty host, a port that is not between 1 and 65535 and a host
// that is not ASCII are errors. The forms of gRPC (grpc, grpcs, dns, unix) are
// errors with HTTP. Without any endpoint it is localhost.
//
// Port. One that is not given is 443 with https and grpcs, and 80 with http over
// HTTP, as everywhere on the web; in all other cases it is OTLP's, 4317 for gRPC and
// 4318 for HTTP.
//
// TLS. https and grpcs mean TLS, http and unix mean plaintext, whatever INSECURE
// says. In all other forms INSECURE decides, and without it there is plaintext to
// this host itself (localhost and loopback addresses) and TLS to all others.
//
// Path. Over HTTP the general endpoint is a base to which /v1/traces, /v1/metrics or
// /v1/logs is added, unless it ends so already; the endpoint of a signal is used as
// it stands, and / when it has no path. gRPC has no path.
//
// Headers. A comma-separated list of key=value, values percent-encoded; see
// [ParseHeaders]. They belong to the endpoint of these variables, or to the default one
// on this host. A program that sets its endpoint in code uses [Explicit], which knows
// none of them, so that a vendor's key never reaches another receiver.
//
// The error joins one error for each text that cannot be guessed. The settings
// returned beside an error must not be used.
func ParseOTLP(signal Signal, lookup Lookup) (OTLP, []Warning, error) {
	p := parser{o: OTLP{Signal: signal}, lookup: lookup}
	p.protocol()
	endpoint := p.get("ENDPOINT", &p.o.Source.Endpoint)
	if endpoint.isSet() {
		p.endpoint(endpoint, endpoint.name != signal.variables("ENDPOINT")[0])
	} else {
		p.defaultEndpoint()
	}
	p.insecure(p.get("INSECURE", &p.o.Source.Insecure))
	p.certificates()
	if v := p.get("HEADERS", &p.o.Source.Headers); v.isSet() {
		headers, warnings := ParseHeaders(v.name, v.text, p.o.Protocol)
		p.o.Headers = headers
		p.warnings = append(p.warnings, warnings...)
	}
	p.compression(p.get("COMPRESSION", &p.o.Source.Compression))

	var ok bool
	var warnings []Warning
	v := p.get("TIMEOUT", &p.o.Source.Timeout)
	if p.o.Timeout, ok, warnings = v.duration(DefaultTimeout, MinTimeout, MaxTimeout); !ok {
		p.o.Source.Timeout = ""
	}
	p.warnings = append(p.warnings, warnings...)
	return p.o, p.warnings, errors.Join(p.errs...)
}

// Explicit resolves settings that were given in code. No variable has any part in
// it. The endpoint has the forms and rules of [ParseOTLP]'s general variable; an empty
// one is localhost. The protocol has the words of the variable; an empty one is gRPC and
// an unknown one is an error. insecure stands for the variable INSECURE, nil for
// unset. Headers are taken as they are and are an error when they cannot be
// sent. Timeout, compression and certificates of the result may be set
// afterwards.
func Explicit(signal Signal, protocol, endpoint string, insecure *bool, headers map[string]string) (OTLP, []Warning, error) {
	p := parser{o: OTLP{Signal: signal, Protocol: GRPC, Timeout: DefaultTimeout}}
	if text := unquote(protocol); text != "" {
		var known bool
		if p.o.Protocol, known = protocolOf(text); !known {
			p.fail("the OTLP protocol %s is unknown: want grpc, http/protobuf or http/json", shown(text))
		}
	}
	if text := unquote(endpoint); text != "" {
		p.endpoint(value{"the OTLP endpoint", text}, true)
	} else {
		p.defaultEndpoint()
	}
	v := value{}
	if insecure != nil {
		v = value{"the insecure setting", fmt.Sprint(*insecure)}
	}
	p.insecure(v)
	p.headers(headers)
	return p.o, p.warnings, errors.Join(p.errs...)
}

// parser collects the settings of one signal.
type parser struct {
	o        OTLP
	scheme   string // as given, "" for none
	lookup   Lookup
	warnings []Warning
	errs     []error
}

func (p *parser) get(suffix string, source *string) value {
	v := first(p.lookup, p.o.Signal.variables(suffix)...)
	*source = v.name
	return v
}

func (p *parser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, Warning("lens: "+fmt.Sprintf(format, args...)))
}

func (p *parser) fail(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("lens: "+format, args...))
}

func protocolOf(text string) (p Protocol, known bool) {
	switch strings.ToLower(text) {
	case "grpc":
		return GRPC, true
	case "http/protobuf", "http/json":
		return HTTPProtobuf, true
	}
	return GRPC, false
}

func (p *parser) protocol() {
	v := p.get("PROTOCOL", &p.o.Source.Protocol)
	p.o.Protocol = GRPC
	if !v.isSet() {
		return
	}
	var known bool
	if p.o.Protocol, known = protocolOf(v.text); !known {
		p.warnings = append(p.warnings, v.warn("grpc, http/protobuf or http/json", string(GRPC)))
	} else if strings.EqualFold(v.text, "http/json") {
		p.warn("%s=%s: sending protobuf over HTTP, which every OTLP receiver for JSON accepts too", v.name, shown(v.text))
	}
}

func (p *parser) compression(v value) {
	switch strings.ToLower(v.text) {
	case "", "none":
	case "gzip":
		p.o.Compression = Gzip
	default:
		p.warnings = append(p.warnings, v.warn("gzip or none", "none"))
	}
}

func (p *parser) insecure(v value) {
	insecure, ok := v.boolean()
	var scheme bool // decided by the scheme
	switch p.scheme {
	case "http", "unix":
		scheme, p.o.Insecure = true, true
	case "https", "grpcs":
		scheme, p.o.Insecure = true, false
	default:
		p.o.Insecure = p.o.Endpoint.isLoopback()
	}
	switch {
	case !v.isSet():
	case scheme && ok && insecure == p.o.Insecure:
	case scheme:
		p.warn("%s=%s is ignored: the scheme of the endpoint, %s, decides about TLS", v.name, shown(v.text), p.scheme)
	case ok:
		p.o.Insecure = insecure
	default:
		p.fail("%s=%s: want true or false (also 1, yes, on, 0, no, off)", v.name, shown(v.text))
	}
	if p.o.Protocol != GRPC && p.o.Endpoint.Host != "" {
		p.o.Endpoint.Scheme = p.o.scheme()
	}
}

// protocolSetting is what a message asks to change.
func (p *parser) protocolSetting() string {
	if p.lookup == nil {
		return "the protocol"
	}
	return p.o.Signal.variables("PROTOCOL")[1]
}

func (p *parser) certificates() {
	s := &p.o.Source
	p.o.CertificateFile = p.get("CERTIFICATE", &s.Certificate).text
	certificate := p.get("CLIENT_CERTIFICATE", &s.ClientCertificate)
	key := p.get("CLIENT_KEY", &s.ClientKey)
	p.o.ClientCertificateFile, p.o.ClientKeyFile = certificate.text, key.text
	switch {
	case certificate.isSet() && !key.isSet():
		p.fail("%s is set without %s: a client certificate needs its key", certificate.name, p.o.Signal.variables("CLIENT_KEY")[1])
	case key.isSet() && !certificate.isSet():
		p.fail("%s is set without %s: a client key needs its certificate", key.name, p.o.Signal.variables("CLIENT_CERTIFICATE")[1])
	}
	if p.o.Insecure && len(p.errs) == 0 {
		for _, name := range []string{s.Certificate, s.ClientCertificate} {
			if name != "" {
				p.warn("%s is not used: %s is plaintext; write https:// in front of the endpoint for TLS", name, p.o.Endpoint)
			}
		}
	}
}
