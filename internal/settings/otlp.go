package settings

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

	// Names is what messages call these settings.
	Names Names
}

// Names has for each setting the variable that it came from, and for one that is
// not set the variable that would set it. A name is empty when nothing would.
type Names struct {
	Protocol, Endpoint, Insecure              string
	Certificate, ClientCertificate, ClientKey string
	Headers, Compression, Timeout             string

	// Off says how the whole signal is turned off, as in "X_METRICS_ENABLED to false".
	Off string
}

// Own holds the settings that a program has of its own, by the suffix that the
// standard variable has, as in HEADERS. They come before the standard variables, and
// with an ENDPOINT among them the standard variables have no part in anything.
// OFF is not a setting but the name that [Names] has.
type Own map[string]Setting

// Setting is a text and what messages call it. One with an empty text is not set.
type Setting struct{ Name, Text string }

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
// on this host. When the application has an endpoint of its own none of them is read, so
// that a vendor's key never reaches another receiver.
//
// The error joins one error for each text that cannot be guessed. The settings
// returned beside an error must not be used.
func ParseOTLP(signal Signal, own Own, lookup Lookup) (OTLP, []Warning, error) {
	p := parser{o: OTLP{Signal: signal}, own: own, lookup: lookup}
	p.alone = unquote(own["ENDPOINT"].Text) != ""
	names := &p.o.Names
	for suffix, name := range map[string]*string{
		"PROTOCOL": &names.Protocol, "ENDPOINT": &names.Endpoint, "INSECURE": &names.Insecure,
		"CERTIFICATE": &names.Certificate, "CLIENT_CERTIFICATE": &names.ClientCertificate, "CLIENT_KEY": &names.ClientKey,
		"HEADERS": &names.Headers, "COMPRESSION": &names.Compression, "TIMEOUT": &names.Timeout,
	} {
		if *name = p.get(suffix).name; *name == "" {
			*name = p.setter(suffix)
		}
	}
	if names.Off = own["OFF"].Name; names.Off == "" {
		names.Off = "OTEL_" + strings.ToUpper(string(signal)) + "_EXPORTER to none"
	}
	p.protocol(p.get("PROTOCOL"))
	if v := p.get("ENDPOINT"); v.isSet() {
		p.endpoint(v, v.name != signal.variables("ENDPOINT")[0])
	} else {
		p.defaultEndpoint()
	}
	p.insecure(p.get("INSECURE"))
	p.certificates()
	if v := p.get("HEADERS"); v.isSet() {
		headers, warnings := ParseHeaders(v.name, v.text, p.o.Protocol)
		p.o.Headers = headers
		p.warnings = append(p.warnings, warnings...)
	}
	p.compression(p.get("COMPRESSION"))
	timeout, _, warnings := p.get("TIMEOUT").duration(DefaultTimeout, MinTimeout, MaxTimeout)
	p.o.Timeout = timeout
	p.warnings = append(p.warnings, warnings...)
	return p.o, p.warnings, errors.Join(p.errs...)
}

// parser collects the settings of one signal.
type parser struct {
	o        OTLP
	scheme   string // as given, "" for none
	own      Own
	alone    bool // the standard variables have no part
	lookup   Lookup
	warnings []Warning
	errs     []error
}

func (p *parser) get(suffix string) value {
	if own := p.own[suffix]; unquote(own.Text) != "" {
		return value{own.Name, unquote(own.Text)}
	}
	if p.alone {
		return value{}
	}
	return first(p.lookup, p.o.Signal.variables(suffix)...)
}

// setter names what would give the setting where it is not set.
func (p *parser) setter(suffix string) string {
	if p.alone {
		return p.own[suffix].Name
	}
	return p.o.Signal.variables(suffix)[1]
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

func (p *parser) protocol(v value) {
	p.o.Protocol = GRPC
	if !v.isSet() {
		return
	}
	var known bool
	if p.o.Protocol, known = protocolOf(v.text); !known && v.name == p.own["PROTOCOL"].Name {
		p.fail("%s=%s: want grpc, http/protobuf or http/json", v.name, shown(v.text))
	} else if !known {
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

func (p *parser) certificates() {
	names := &p.o.Names
	authority, certificate, key := p.get("CERTIFICATE"), p.get("CLIENT_CERTIFICATE"), p.get("CLIENT_KEY")
	p.o.CertificateFile, p.o.ClientCertificateFile, p.o.ClientKeyFile = authority.text, certificate.text, key.text
	switch {
	case certificate.isSet() && !key.isSet():
		p.fail("%s is set without %s: a client certificate needs its key", certificate.name, names.ClientKey)
	case key.isSet() && !certificate.isSet():
		p.fail("%s is set without %s: a client key needs its certificate", key.name, names.ClientCertificate)
	}
	if p.o.Insecure && len(p.errs) == 0 {
		for _, v := range []value{authority, certificate} {
			if v.isSet() {
				p.warn("%s is not used: %s is plaintext; write https:// in front of the endpoint in %s for TLS", v.name, p.o.Endpoint, names.Endpoint)
			}
		}
	}
}
