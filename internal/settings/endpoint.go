package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Endpoint is where an exporter sends to.
type Endpoint struct {
	// Scheme is grpc or unix for gRPC, and http or https for HTTP.
	Scheme string

	// Host is host:port, an IPv6 address in brackets; empty with unix.
	Host string

	// Path is the escaped path of the request over HTTP, and the path of the
	// socket with unix; empty with grpc.
	Path string
}

// String returns the endpoint as a URL. It holds no secret: there is no
// user-info and no query in an endpoint.
func (e Endpoint) String() string { return e.Scheme + "://" + e.Host + e.Path }

func (e Endpoint) isLoopback() bool {
	if e.Scheme == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(e.Host)
	if err != nil {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

const (
	formsGRPC = "http://host:port, https://host:port, host:port, dns:///host:port or unix:///path"
	formsHTTP = "http://host:port/path, https://host:port/path or host:port"
)

func (p *parser) forms() string {
	if p.o.Protocol == GRPC {
		return formsGRPC
	}
	return formsHTTP
}

func (p *parser) badEndpoint(v value, why string) {
	p.fail("%s%s: %s; want %s for %s", v.name, shownEndpoint(v.text), why, p.forms(), p.o.Protocol)
}

// shownEndpoint returns ="text", or nothing when the text may hold a secret: what
// belongs to no address has been put into the wrong variable, or is a password.
func shownEndpoint(text string) string {
	for _, r := range text {
		if !strings.ContainsRune(".:/_-[]", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return ""
		}
	}
	return "=" + shown(text)
}

func (p *parser) defaultEndpoint() {
	if p.o.Protocol == GRPC {
		p.o.Endpoint = Endpoint{Scheme: "grpc", Host: "localhost:4317"}
	} else {
		p.o.Endpoint = Endpoint{Scheme: "http", Host: "localhost:4318", Path: p.o.Signal.path()}
	}
}

// path is where a receiver takes the signal over HTTP.
func (s Signal) path() string { return "/v1/" + string(s) }

// endpoint parses v into p.o.Endpoint and p.scheme.
func (p *parser) endpoint(v value, isBase bool) {
	scheme, rest, ok := cutScheme(v.text)
	if !ok {
		p.badEndpoint(v, "unknown scheme")
		return
	}
	p.scheme = scheme
	if strings.ContainsAny(rest, "?#") {
		p.badEndpoint(v, "a query or fragment has no place in an endpoint")
		return
	}
	if p.o.Protocol != GRPC && scheme != "" && !strings.HasPrefix(scheme, "http") {
		p.badEndpoint(v, scheme+" is for gRPC only")
		return
	}
	if scheme == "unix" {
		if !strings.HasPrefix(rest, "/") || strings.Trim(rest, "/") == "" || strings.ContainsRune(rest, 0) {
			p.badEndpoint(v, "the path of the socket is not absolute")
			return
		}
		p.o.Endpoint = Endpoint{Scheme: "unix", Path: rest}
		return
	}
	authority, path, slash := strings.Cut(rest, "/")
	if slash {
		path = "/" + path
	}
	if strings.Contains(authority, "@") || strings.Contains(path, "@") && strings.Contains(authority, ":") && !digits(authority[strings.LastIndexByte(authority, ':')+1:]) {
		p.badEndpoint(v, "a user name or password has no place in an endpoint; use "+p.o.Names.Headers)
		return
	}
	host, port, why := splitAuthority(authority)
	if why != "" {
		p.badEndpoint(v, why)
		return
	}
	portGiven := port != ""
	if !portGiven {
		port = p.defaultPort(scheme)
	}
	e := Endpoint{Scheme: "grpc", Host: net.JoinHostPort(host, port)}
	if p.o.Protocol != GRPC {
		if why := badPath(path); why != "" {
			p.badEndpoint(v, why)
			return
		}
		e.Scheme = "http" // or https, which is decided with TLS
		e.Path = p.requestPath(v, path, isBase)
	} else if strings.Trim(path, "/") != "" {
		p.warn("%s%s: the path is ignored: gRPC has none; for HTTP set %s to http/protobuf",
			v.name, shownEndpoint(v.text), p.o.Names.Protocol)
	}
	p.o.Endpoint = e
	p.warnPort(v, port, portGiven)
}

// cutScheme splits text into a known scheme in lower case, or none, and what
// follows it. The dns scheme is returned as "", as it says nothing but how the
// name is found.
func cutScheme(text string) (scheme, rest string, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		// gRPC has these two with a single slash too.
		if s, r, _ := strings.Cut(text, ":"); strings.EqualFold(s, "unix") {
			return "unix", r, true
		}
		return "", text, true
	}
	switch scheme = strings.ToLower(scheme); scheme {
	case "http", "https", "grpc", "grpcs", "unix":
		return scheme, rest, true
	case "dns":
		// dns://server/name asks one DNS server, which is not offered.
		rest, found = strings.CutPrefix(rest, "/")
		return "dns", rest, found
	}
	return "", "", false
}

func (p *parser) defaultPort(scheme string) string {
	switch {
	case strings.HasSuffix(scheme, "s") && scheme != "dns":
		return "443"
	case p.o.Protocol == GRPC:
		return "4317"
	case scheme == "http":
		return "80"
	}
	return "4318"
}

func (p *parser) warnPort(v value, port string, given bool) {
	variable := p.o.Names.Protocol
	switch {
	case p.o.Protocol == GRPC && port == "4318":
		p.warn("%s has port 4318, by convention OTLP over HTTP, and the protocol is gRPC; for HTTP set %s to http/protobuf", v.name, variable)
	case p.o.Protocol != GRPC && port == "4317":
		p.warn("%s has port 4317, by convention OTLP over gRPC, and the protocol is HTTP; for gRPC set %s to grpc", v.name, variable)
	case !given && port == "80":
		p.warn("%s has no port, and http means port 80 then; OTLP receivers listen on 4318 by convention", v.name)
	}
}

// splitAuthority returns host, without brackets, and port, or why there are none.
func splitAuthority(s string) (host, port, why string) {
	var rest string
	if strings.HasPrefix(s, "[") {
		inner, after, closed := strings.Cut(s[1:], "]")
		inner = strings.Replace(inner, "%25", "%", 1) // a zone as URLs have it
		ip, err := netip.ParseAddr(inner)
		if !closed || err != nil || !ip.Is6() || !plain(ip.Zone()) {
			return "", "", "what is in brackets is not an IPv6 address"
		}
		host, rest = inner, after
	} else {
		if strings.Count(s, ":") > 1 {
			return "", "", "too many colons: an IPv6 address stands in brackets, as in [::1]:4317"
		}
		if i := strings.IndexByte(s, ':'); i >= 0 {
			host, rest = s[:i], s[i:]
		} else {
			host = s
		}
		if why := badHost(host); why != "" {
			return "", "", why
		}
	}
	if rest == "" {
		return host, "", ""
	}
	port = strings.TrimPrefix(rest, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	if rest[0] != ':' || !digits(port) || err != nil || n == 0 {
		return "", "", "the port is not a number from 1 to 65535"
	}
	return host, strconv.FormatUint(n, 10), ""
}

func badHost(host string) string {
	if host == "" {
		return "the host is empty"
	}
	for _, r := range host {
		if r > unicode.MaxASCII {
			return "the host is not ASCII (write an international name in its xn-- form)"
		}
	}
	if !plain(host) || len(host) > 253 || strings.Trim(host, ".") == "" || strings.Contains(host, "..") || host[0] == '.' {
		return "the host is not a name or an address"
	}
	return ""
}

// plain reports whether s holds only what names of hosts and interfaces have.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func badPath(path string) string {
	for _, r := range path {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\^{|}`+"`", r) {
			return "the path holds a character that must be percent-encoded"
		}
	}
	if _, err := url.PathUnescape(path); err != nil {
		return "the path holds a % that starts no escape"
	}
	return ""
}

// requestPath returns the path that requests go to.
func (p *parser) requestPath(v value, path string, isBase bool) string {
	own := p.o.Signal.path()
	base := strings.TrimRight(path, "/")
	if !isBase {
		if base == "" {
			p.warn("%s has no path, so requests go to /; receivers by convention take %s at %s", v.name, p.o.Signal, own)
			return "/"
		}
		return path
	}
	for _, s := range []Signal{Traces, Metrics, Logs} {
		if prefix, ok := strings.CutSuffix(base, s.path()); ok {
			p.warn("%s is a base to which %s is added, so leave out its %s; requests go to %s",
				v.name, own, s.path(), prefix+own)
			return prefix + own
		}
	}
	return base + own
}

// URL returns the address of requests over HTTP.
func (o OTLP) URL() (*url.URL, error) {
	path, err := url.PathUnescape(o.Endpoint.Path)
	if err != nil {
		return nil, fmt.Errorf("lens: the path of %s: %w", o.Endpoint, err)
	}
	return &url.URL{Scheme: o.scheme(), Host: o.Endpoint.Host, Path: path, RawPath: o.Endpoint.Path}, nil
}

func (o OTLP) scheme() string {
	if o.Insecure {
		return "http"
	}
	return "https"
}

// Target returns the address for grpc.NewClient.
func (o OTLP) Target() string {
	if o.Endpoint.Scheme == "unix" {
		return (&url.URL{Scheme: "unix", Path: o.Endpoint.Path}).String()
	}
	return (&url.URL{Scheme: "dns", Path: "/" + o.Endpoint.Host}).String()
}
