package settings

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// What is accepted is complete and is what was written; what is said holds no
// password.
func FuzzParseOTLP(f *testing.F) {
	for _, s := range []string{"http://h:1", "h:4317", "[::1]:1", "unix:///s", "dns:///h", "http://u:p@h", "https://h/otlp/v1/traces", `"x"`, "HTTP://[fe80::1%25a]/%41", "0//0"} {
		f.Add(s, "grpc", "true", "10000")
		f.Add(s, "http/protobuf", "", "x")
	}
	f.Fuzz(func(t *testing.T, endpoint, protocol, insecure, timeout string) {
		o, warnings, err := ParseOTLP(Traces, nil, env(map[string]string{
			general: endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
			"OTEL_EXPORTER_OTLP_INSECURE": insecure, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": timeout}))
		for _, w := range warnings {
			if len(w) > 600 {
				t.Fatalf("a long warning: %q", w)
			}
		}
		if err != nil {
			if !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_") {
				t.Fatalf("no variable in %q", err)
			}
			return
		}
		if o.Timeout < MinTimeout || o.Timeout > MaxTimeout {
			t.Fatalf("time-out %v", o.Timeout)
		}
		if o.Endpoint.Scheme == "unix" {
			return
		}
		host, port, err := net.SplitHostPort(o.Endpoint.Host)
		if err != nil || host == "" || port == "" || port == "0" {
			t.Fatalf("%q became %q", endpoint, o.Endpoint.Host)
		}
		text := unquote(endpoint)
		zone := strings.NewReplacer("%25", "%")
		if text == "" {
			if host != "localhost" {
				t.Fatalf("the default is %q", host)
			}
		} else if !strings.Contains(text, host) && !strings.Contains(zone.Replace(text), host) {
			if _, err := netip.ParseAddr(host); err != nil {
				t.Fatalf("%q became %q", endpoint, host)
			}
		}
		if o.Protocol == HTTPProtobuf {
			u, err := o.URL()
			if err != nil {
				t.Fatalf("%q: %v", endpoint, err)
			}
			if u.Host != o.Endpoint.Host || u.EscapedPath() != o.Endpoint.Path || u.User != nil || u.RawQuery != "" {
				t.Fatalf("%q: %q is not %q", endpoint, u, o.Endpoint)
			}
		}
	})
}

func FuzzParseHeaders(f *testing.F) {
	for _, s := range []string{"a=1,b=2", "Authorization: Bearer x", "a=%zz", "a=,=b,,", "k=v%2C w", "x-bin=%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, protocol := range []Protocol{GRPC, HTTPProtobuf} {
			headers, warnings := ParseHeaders("V", text, protocol)
			if n := strings.Count(text, ",") + 1; len(headers) > n || len(warnings) > 2*n {
				t.Fatalf("%d headers and %d warnings from %d items", len(headers), len(warnings), n)
			}
			for _, h := range headers {
				if !isToken(h.Key) || unsendable(h, protocol) != "" {
					t.Fatalf("header %q with %q", h.Key, h.Value)
				}
			}
			for _, w := range warnings {
				if len(w) > 200 {
					t.Fatalf("a long warning: %q", w)
				}
			}
		}
	})
}

func FuzzResourceAttributes(f *testing.F) {
	for _, s := range []string{"a=1,b=2", "a,b", ",,=", "k=%zz%41", "service.name=x\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		attrs, warnings := ResourceAttributes(env(map[string]string{"OTEL_RESOURCE_ATTRIBUTES": text}))
		if n := strings.Count(text, ",") + 1; len(attrs)+len(warnings) > n {
			t.Fatalf("%d attributes and %d warnings from %d items", len(attrs), len(warnings), n)
		}
		for _, a := range attrs {
			if a.Key == "" {
				t.Fatal("an empty key")
			}
		}
	})
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"1", "0", "-1", "99999999999999999999", "1e3", "10s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := func(string) (string, bool) { return text, true }
		b, _ := ParseBatch(all)
		if b.MaxQueueSize < 0 || b.MaxQueueSize > envtext.MaxQueueSize || b.MaxExportBatchSize < 0 || b.MaxExportBatchSize > envtext.MaxBatchSize ||
			b.ScheduleDelay != 0 && b.ScheduleDelay < envtext.MinBatchDelay || b.ScheduleDelay > envtext.MaxBatchDelay || b.ExportTimeout < 0 || b.ExportTimeout > MaxTimeout {
			t.Fatalf("%q: %+v", text, b)
		}
		l, _ := ParseSpanLimits(all)
		if l.AttributeValueLengthLimit < 0 || l.AttributeValueLengthLimit > MaxAttributeValueLength || l.AttributeCountLimit < 0 || l.AttributeCountLimit > MaxAttributeCount {
			t.Fatalf("%q: %+v", text, l)
		}
		s, _ := ParseSampler(all)
		if !(s.Ratio >= 0 && s.Ratio <= 1) {
			t.Fatalf("%q: %+v", text, s)
		}
	})
}
