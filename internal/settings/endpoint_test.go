package settings

import (
	"strings"
	"testing"
)

const (
	general  = "OTEL_EXPORTER_OTLP_ENDPOINT"
	ofTraces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// C1: each form reaches exactly that host with the stated TLS mode, or is an error.
func TestEndpointForms(t *testing.T) {
	t.Parallel()
	const plain, secure = true, false
	for _, tt := range []struct {
		text     string
		grpc     string // endpoint, or "" for an error
		http     string
		insecure bool
	}{
		{"http://h:123", "grpc://h:123", "http://h:123/v1/traces", plain},
		{"HTTP://h:123", "grpc://h:123", "http://h:123/v1/traces", plain},
		{"https://h:123", "grpc://h:123", "https://h:123/v1/traces", secure},
		{"HTTPS://h:123", "grpc://h:123", "https://h:123/v1/traces", secure},
		{"h:123", "grpc://h:123", "https://h:123/v1/traces", secure},
		{"h:0123", "grpc://h:123", "https://h:123/v1/traces", secure},
		{"10.0.0.1:123", "grpc://10.0.0.1:123", "https://10.0.0.1:123/v1/traces", secure},
		{"http://10.0.0.1:123", "grpc://10.0.0.1:123", "http://10.0.0.1:123/v1/traces", plain},
		{"127.0.0.1:123", "grpc://127.0.0.1:123", "http://127.0.0.1:123/v1/traces", plain},
		{"https://127.0.0.1:123", "grpc://127.0.0.1:123", "https://127.0.0.1:123/v1/traces", secure},
		{"[::1]:123", "grpc://[::1]:123", "http://[::1]:123/v1/traces", plain},
		{"[::1]", "grpc://[::1]:4317", "http://[::1]:4318/v1/traces", plain},
		{"[::ffff:127.0.0.1]:1", "grpc://[::ffff:127.0.0.1]:1", "http://[::ffff:127.0.0.1]:1/v1/traces", plain},
		{"[2001:db8::1]:123", "grpc://[2001:db8::1]:123", "https://[2001:db8::1]:123/v1/traces", secure},
		{"http://[fe80::1%25eth0]:123", "grpc://[fe80::1%eth0]:123", "http://[fe80::1%eth0]:123/v1/traces", plain},
		{"[fe80::1%eth0]:123", "grpc://[fe80::1%eth0]:123", "https://[fe80::1%eth0]:123/v1/traces", secure},
		{"localhost:123", "grpc://localhost:123", "http://localhost:123/v1/traces", plain},
		{"LOCALHOST.:123", "grpc://LOCALHOST.:123", "http://LOCALHOST.:123/v1/traces", plain},
		{"a.localhost", "grpc://a.localhost:4317", "http://a.localhost:4318/v1/traces", plain},
		{"mylocalhost", "grpc://mylocalhost:4317", "https://mylocalhost:4318/v1/traces", secure},
		{"h", "grpc://h:4317", "https://h:4318/v1/traces", secure},
		{"http://h", "grpc://h:4317", "http://h:80/v1/traces", plain},
		{"https://h", "grpc://h:443", "https://h:443/v1/traces", secure},
		{" http://h:123 ", "grpc://h:123", "http://h:123/v1/traces", plain},
		{"http://h:123/", "grpc://h:123", "http://h:123/v1/traces", plain},
		{"h:123/", "grpc://h:123", "https://h:123/v1/traces", secure},
		{`"http://h:123"`, "grpc://h:123", "http://h:123/v1/traces", plain},
		{`' http://h:123 '`, "grpc://h:123", "http://h:123/v1/traces", plain},
		{"grpc://h:123", "grpc://h:123", "", secure},
		{"grpc://localhost", "grpc://localhost:4317", "", plain},
		{"grpcs://h", "grpc://h:443", "", secure},
		{"dns:///h:123", "grpc://h:123", "", secure},
		{"dns:///h", "grpc://h:4317", "", secure},
		{"dns:///localhost:123", "grpc://localhost:123", "", plain},
		{"unix:///run/otel.sock", "unix:///run/otel.sock", "", plain},
		{"unix:/run/otel.sock", "unix:///run/otel.sock", "", plain},
		{"http://my_collector.svc:1", "grpc://my_collector.svc:1", "http://my_collector.svc:1/v1/traces", plain},

		{"dns://8.8.8.8/h:123", "", "", false},
		{"unix:run/otel.sock", "", "", false},
		{"unix:///", "", "", false},
		{"user:pw@h:123", "", "", false},
		{"http://user:pw@h:123", "", "", false},
		{"http://user:p/w@h:123", "", "", false},
		{"http://h:123?api_key=pw", "", "", false},
		{"http://h:123/#pw", "", "", false},
		{"http://", "", "", false},
		{"http://:123", "", "", false},
		{":123", "", "", false},
		{"/v1/traces", "", "", false},
		{"http:/h:123", "", "", false},
		{"http:h:123", "", "", false},
		{"h:notaport", "", "", false},
		{"h:", "", "", false},
		{"h:0", "", "", false},
		{"h:+1", "", "", false},
		{"h:65536", "", "", false},
		{"h:123:456", "", "", false},
		{"::1:4317", "", "", false},
		{"[::1", "", "", false},
		{"[::1]x", "", "", false},
		{"[10.0.0.1]:123", "", "", false},
		{"http://höst:123", "", "", false},
		{"http://h st:123", "", "", false},
		{"h..x:123", "", "", false},
		{"ftp://h:123", "", "", false},
		{"Authorization=Bearer pw", "", "", false},
	} {
		for _, protocol := range []Protocol{GRPC, HTTPProtobuf} {
			want := tt.grpc
			if protocol == HTTPProtobuf {
				want = tt.http
			}
			o, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{
				general: tt.text, "OTEL_EXPORTER_OTLP_PROTOCOL": string(protocol)}))
			if want == "" {
				if err == nil {
					t.Errorf("%s %q: got %s, want an error", protocol, tt.text, o.Endpoint)
					continue
				}
				msg := err.Error()
				if !strings.Contains(msg, general) || !strings.Contains(msg, "host:port") || strings.Contains(msg, "pw") {
					t.Errorf("%s %q: error %q: want the variable and the forms, and no secret", protocol, tt.text, msg)
				}
				continue
			}
			if err != nil || o.Endpoint.String() != want || o.Insecure != tt.insecure {
				t.Errorf("%s %q: got %s, insecure %v, error %v; want %s, insecure %v",
					protocol, tt.text, o.Endpoint, o.Insecure, err, want, tt.insecure)
			}
			if o.Names.Endpoint != general {
				t.Errorf("%s %q: name is %q", protocol, tt.text, o.Names.Endpoint)
			}
			if !strings.HasPrefix(tt.text, "http://h") || strings.Contains(tt.text, "123") {
				wantWarning(t, warnings)
			}
			if protocol == HTTPProtobuf {
				u, err := o.URL()
				if got := strings.Replace(u.String(), "%25", "%", 1); err != nil || got != want {
					t.Errorf("%q: URL is %s, error %v", tt.text, got, err)
				}
			}
		}
	}
}

func TestDefaultEndpoint(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[string]string{
		"": "grpc://localhost:4317", "grpc": "grpc://localhost:4317", "http/protobuf": "http://localhost:4318/v1/logs",
	} {
		o, warnings, err := ParseOTLP(Logs, nil, env(map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": protocol}))
		if err != nil || o.Endpoint.String() != want || !o.Insecure || o.Names.Endpoint != general || o.Timeout != DefaultTimeout {
			t.Errorf("%q: got %+v, error %v; want %s", protocol, o, err, want)
		}
		wantWarning(t, warnings)
	}
}

// C2: paths over HTTP.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal         Signal
		variable, path string
		want           string
		warning        string
	}{
		{Traces, general, "", "/v1/traces", ""},
		{Traces, general, "/", "/v1/traces", ""},
		{Traces, general, "/otlp", "/otlp/v1/traces", ""},
		{Metrics, general, "/otlp/", "/otlp/v1/metrics", ""},
		{Logs, general, "/otlp//", "/otlp/v1/logs", ""},
		{Traces, general, "/a%2Fb", "/a%2Fb/v1/traces", ""},
		{Traces, general, "/a%20b", "/a%20b/v1/traces", ""},
		{Traces, general, "/v1/traces", "/v1/traces", "leave out"},
		{Traces, general, "/otlp/v1/traces/", "/otlp/v1/traces", "leave out"},
		{Metrics, general, "/otlp/v1/traces", "/otlp/v1/metrics", "leave out"},
		{Traces, ofTraces, "/v1/traces", "/v1/traces", ""},
		{Traces, ofTraces, "/otlp", "/otlp", ""},
		{Traces, ofTraces, "/otlp/", "/otlp/", ""},
		{Traces, ofTraces, "", "/", "no path"},
		{Traces, ofTraces, "/", "/", "no path"},
	} {
		o, warnings, err := ParseOTLP(tt.signal, nil, env(map[string]string{
			tt.variable: "http://h:123" + tt.path, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}))
		if err != nil || o.Endpoint.Path != tt.want {
			t.Errorf("%s %s %q: got %q, error %v; want %q", tt.signal, tt.variable, tt.path, o.Endpoint.Path, err, tt.want)
		}
		if tt.warning != "" {
			wantWarning(t, warnings, tt.variable, tt.warning)
		} else {
			wantWarning(t, warnings)
		}
		if u, err := o.URL(); err != nil || u.String() != "http://h:123"+tt.want {
			t.Errorf("%q: URL %s, error %v", tt.path, u, err)
		}
	}
	for _, bad := range []string{"/a%zz", "/a b", "/ä", "/a\\b"} {
		if o, _, err := ParseOTLP(Traces, nil, env(map[string]string{ofTraces: "http://h:1" + bad, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"})); err == nil {
			t.Errorf("%q: got %s, want an error", bad, o.Endpoint)
		}
	}
	_, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{general: "http://h:123/v1/traces"}))
	if err != nil {
		t.Error(err)
	}
	wantWarning(t, warnings, general, "gRPC has none", "OTEL_EXPORTER_OTLP_PROTOCOL")
}

func TestPortOfTheOtherProtocol(t *testing.T) {
	t.Parallel()
	for endpoint, protocol := range map[string]string{"http://h:4318": "grpc", "http://h:4317": "http/protobuf"} {
		_, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{general: endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}))
		if err != nil {
			t.Error(err)
		}
		wantWarning(t, warnings, general, "OTEL_EXPORTER_OTLP_PROTOCOL", "convention")
	}
	_, warnings, _ := ParseOTLP(Traces, nil, env(map[string]string{general: "http://h", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}))
	wantWarning(t, warnings, general, "port 80")
}

// C3: scheme, then INSECURE, then where the host is.
func TestTLSMode(t *testing.T) {
	t.Parallel()
	const insecure = "OTEL_EXPORTER_OTLP_INSECURE"
	for _, tt := range []struct {
		endpoint, insecure string
		plaintext          bool
		warned             bool
	}{
		{"http://h:1", "", true, false},
		{"http://h:1", "true", true, false},
		{"http://h:1", "false", true, true},
		{"http://h:1", "junk", true, true},
		{"https://h:1", "", false, false},
		{"https://h:1", "true", false, true},
		{"https://h:1", "off", false, false},
		{"h:1", "", false, false},
		{"h:1", "true", true, false},
		{"h:1", "TRUE", true, false},
		{"h:1", "1", true, false},
		{"h:1", "Yes", true, false},
		{"h:1", "on", true, false},
		{"h:1", "0", false, false},
		{"localhost:1", "", true, false},
		{"localhost:1", "false", false, false},
		{"localhost:1", "no", false, false},
		{"", "", true, false},
		{"", "false", false, false},
	} {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			o, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{
				general: tt.endpoint, insecure: tt.insecure, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}))
			if err != nil || o.Insecure != tt.plaintext {
				t.Errorf("%s %q INSECURE=%q: insecure is %v, error %v", protocol, tt.endpoint, tt.insecure, o.Insecure, err)
			}
			if protocol != "grpc" && (o.Endpoint.Scheme == "http") != tt.plaintext {
				t.Errorf("%q INSECURE=%q: endpoint is %s", tt.endpoint, tt.insecure, o.Endpoint)
			}
			if tt.warned {
				wantWarning(t, warnings, insecure, "scheme")
			} else {
				wantWarning(t, warnings)
			}
		}
	}
	if _, _, err := ParseOTLP(Traces, nil, env(map[string]string{general: "h:1", insecure: "maybe"})); err == nil ||
		!strings.Contains(err.Error(), insecure) || !strings.Contains(err.Error(), "true or false") {
		t.Errorf("error is %v", err)
	}
	o, _, _ := ParseOTLP(Traces, nil, env(map[string]string{general: "h:1", insecure: "true", "OTEL_EXPORTER_OTLP_TRACES_INSECURE": "false"}))
	if o.Insecure || o.Names.Insecure != "OTEL_EXPORTER_OTLP_TRACES_INSECURE" {
		t.Errorf("the variable of the signal does not come first: %+v", o)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	o, warnings, err := ParseOTLP(Metrics, nil, env(map[string]string{
		general:                                  "https://h:1",
		"OTEL_EXPORTER_OTLP_CERTIFICATE":         "/ca.pem",
		"OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE": "/metrics-ca.pem",
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE":  "/client.pem",
		"OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY":  "/client.key",
	}))
	if err != nil || o.CertificateFile != "/metrics-ca.pem" || o.ClientCertificateFile != "/client.pem" || o.ClientKeyFile != "/client.key" {
		t.Errorf("got %+v, error %v", o, err)
	}
	wantWarning(t, warnings)
	for _, name := range []string{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"} {
		_, _, err := ParseOTLP(Traces, nil, env(map[string]string{general: "https://h:1", name: "/file"}))
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s alone: error is %v", name, err)
		}
	}
	_, warnings, err = ParseOTLP(Traces, nil, env(map[string]string{general: "http://h:1", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/ca.pem"}))
	if err != nil {
		t.Error(err)
	}
	wantWarning(t, warnings, "OTEL_EXPORTER_OTLP_CERTIFICATE", "plaintext")
}

// All bad variables are in one error.
func TestErrorsAreJoined(t *testing.T) {
	t.Parallel()
	_, _, err := ParseOTLP(Traces, nil, env(map[string]string{
		general: "h:notaport", "OTEL_EXPORTER_OTLP_INSECURE": "maybe", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/k"}))
	for _, name := range []string{general, "OTEL_EXPORTER_OTLP_INSECURE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is missing in %v", name, err)
		}
	}
}

// C4, FB5: a program's own endpoint leaves the standard variables no part, and messages
// name what has one.
func TestOwnSettings(t *testing.T) {
	t.Parallel()
	foreign := env(map[string]string{
		general: "http://foreign:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": ":::", "OTEL_EXPORTER_OTLP_PROTOCOL": "smoke",
		"OTEL_EXPORTER_OTLP_HEADERS": "x=secret", "OTEL_EXPORTER_OTLP_INSECURE": "maybe", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/foreign",
		"OTEL_EXPORTER_OTLP_CLIENT_KEY": "/foreign", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
	})
	own := func(texts ...string) Own {
		out := Own{}
		for i, suffix := range []string{"PROTOCOL", "ENDPOINT", "INSECURE", "HEADERS", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
			out[suffix] = Setting{"MY_" + suffix, append(texts, make([]string, 7)...)[i]}
		}
		return out
	}
	for _, tt := range []struct {
		protocol, endpoint, insecure string
		want                         string
		plaintext                    bool
	}{
		{"grpc", "https://y:1", "", "grpc://y:1", false},
		{"", "y:1", "", "grpc://y:1", false},
		{"grpc", "y:1", "true", "grpc://y:1", true},
		{"grpc", "localhost:1", "false", "grpc://localhost:1", false},
		{"http/protobuf", "http://y:1", "", "http://y:1/v1/traces", true},
		{"HTTP/JSON", "'y:1/base' ", "", "https://y:1/base/v1/traces", false},
	} {
		o, _, err := ParseOTLP(Traces, own(tt.protocol, tt.endpoint, tt.insecure, "B=2,a=1 %3D %25", "/ca", "/cert", "/key"), foreign)
		if err != nil || o.Endpoint.String() != tt.want || o.Insecure != tt.plaintext || o.Timeout != DefaultTimeout || o.Compression != NoCompression ||
			o.CertificateFile != "/ca" || o.ClientCertificateFile != "/cert" || o.ClientKeyFile != "/key" {
			t.Errorf("%+v: got %+v, error %v", tt, o, err)
		}
		if len(o.Headers) != 2 || o.Headers[0].Value != "2" || o.Headers[1].Value != "1 = %" {
			t.Errorf("headers are %q", o.Headers)
		}
		if n := o.Names; n.Headers != "MY_HEADERS" || n.Certificate != "MY_CERTIFICATE" || n.Insecure != "MY_INSECURE" || n.Timeout != "" || n.Compression != "" {
			t.Errorf("names are %+v", n)
		}
	}
	for _, o := range []Own{
		own("http", "h:1"), own("", "http://u:secret@h"), own("", "h:x"), own("", "h:1", "maybe"),
		own("", "https://h", "", "", "", "/cert"), own("", "https://h", "", "", "", "", "/key"), own("smoke"),
	} {
		if _, _, err := ParseOTLP(Traces, o, env(nil)); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "OTEL_") || !strings.Contains(err.Error(), "MY_") {
			t.Errorf("%v: error is %v", o, err)
		}
	}
	o, warnings, err := ParseOTLP(Traces, own("grpc", "http://y:4318/path", "false", "a b=secret", "/ca"), foreign)
	if err != nil || len(warnings) != 5 || o.Names.Off == "" {
		t.Errorf("error %v, warnings %q", err, warnings)
	}
	for _, w := range warnings {
		if strings.Contains(string(w), "OTEL_") || strings.Contains(string(w), "secret") {
			t.Errorf("a setting of the program is explained with another variable: %q", w)
		}
	}
	// Without an endpoint each comes before its standard variables, which stay behind it.
	o, _, err = ParseOTLP(Metrics, own("", "", "", "mine=1", "/mine"), env(map[string]string{
		general: "https://there:1", "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x=1", "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE": "/theirs",
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "/cert", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/key"}))
	if err != nil || o.Endpoint.String() != "grpc://there:1" || o.CertificateFile != "/mine" || o.ClientKeyFile != "/key" ||
		len(o.Headers) != 1 || o.Headers[0].Key != "mine" {
		t.Errorf("got %+v, error %v", o, err)
	}
	if n := o.Names; n.Headers != "MY_HEADERS" || n.Certificate != "MY_CERTIFICATE" || n.Endpoint != general || n.ClientKey != "OTEL_EXPORTER_OTLP_CLIENT_KEY" ||
		n.Insecure != "OTEL_EXPORTER_OTLP_INSECURE" || n.Off != "OTEL_METRICS_EXPORTER to none" {
		t.Errorf("names are %+v", n)
	}
}
