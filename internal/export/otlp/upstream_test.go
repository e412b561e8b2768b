package otlp

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"

	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/settings"
)

// Spans over gRPC leave through OpenTelemetry's client, and what the variables that it
// reads say for another receiver changes nothing.
func TestSpansLeaveThroughUpstream(t *testing.T) {
	if !inChild() {
		t.Parallel()
		runInChild(t)
		return
	}
	other := otlptest.Start(t)
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		for suffix, text := range map[string]string{
			"ENDPOINT": other.GRPCURL(), "HEADERS": "x-vendor=s3cr3t", "INSECURE": "false", "COMPRESSION": "gzip", "TIMEOUT": "1", "PROTOCOL": "http/protobuf",
		} {
			t.Setenv(prefix+suffix, text)
		}
	}
	for _, start := range [][]otlptest.Option{nil, {otlptest.WithTLS()}} {
		srv := otlptest.Start(t, start...)
		o := plaintext(t, settings.GRPC, srv.GRPCURL())
		o.Headers = []settings.Header{{Key: "x-ours", Value: "1"}}
		if start != nil {
			o.CertificateFile = srv.CAFile()
		}
		e := newExporter(t, o)
		if err := e.ExportSpans(t.Context(), spans(3)); err != nil {
			t.Error(err)
		}
		if e.(*TraceExporter).client.sender.(*grpcSender).upstream == nil {
			t.Error("OpenTelemetry's client has no part in it")
		}
		r := srv.Requests()
		if len(r) != 1 || r[0].Items != 3 || r[0].Header.Get("x-ours") != "1" || r[0].Header.Get("x-vendor") != "" || r[0].Encoding != "" ||
			!strings.HasPrefix(r[0].Header.Get("user-agent"), "nemo-lens-go") {
			t.Errorf("%+v", r)
		}
	}
	if r := other.Requests(); len(r) > 0 {
		t.Errorf("%d requests elsewhere", len(r))
	}
}

// What OpenTelemetry's client prints of the environment, to standard error. Such an
// environment is not shown to it: the spans leave without it.
var printed = []struct{ suffix, text string }{
	{"HEADERS", "Authorization: Bearer s3cr3t"}, {"HEADERS", "x=%zz-s3cr3t"}, {"HEADERS", "a=1,s3cr3t"}, {"HEADERS", "a=1,,b=s3cr3t"}, {"HEADERS", "s3cr3t key=1"},
	{"TRACES_HEADERS", "s3cr3t"},
	{"ENDPOINT", "127.0.0.1:4317/s3cr3t"}, {"ENDPOINT", "http://user:s3cr3t%zz@host"}, {"TRACES_ENDPOINT", `"http://s3cr3t:1"`},
	{"TIMEOUT", "s3cr3t"}, {"TRACES_TIMEOUT", "10s3cr3t"},
	{"CERTIFICATE", "/nowhere/s3cr3t.pem"}, {"TRACES_CERTIFICATE", "/nowhere/s3cr3t.pem"},
}

func TestUpstreamPrintsTheEnvironment(t *testing.T) {
	if !inChild() {
		t.Parallel()
		for i, out := range strings.Split(runInChild(t), "case:")[1:] {
			// An empty item of a list is printed too, without the next one.
			if !strings.Contains(out, "s3cr3t") && printed[i].text != "a=1,,b=s3cr3t" {
				t.Errorf("%s=%s is not printed: then it can be shown\n%s", printed[i].suffix, printed[i].text, out)
			}
		}
		return
	}
	for _, c := range printed {
		t.Setenv("OTEL_EXPORTER_OTLP_"+c.suffix, c.text)
		fmt.Fprintln(os.Stderr, "case:")
		_ = otlptracegrpc.NewClient()
		t.Setenv("OTEL_EXPORTER_OTLP_"+c.suffix, "")
	}
}

func TestNothingOfTheEnvironmentIsPrinted(t *testing.T) {
	if !inChild() {
		t.Parallel()
		if out := runInChild(t); strings.Contains(out, "s3cr3t") {
			t.Error(out)
		}
		return
	}
	srv := otlptest.Start(t)
	for _, c := range printed {
		t.Setenv("OTEL_EXPORTER_OTLP_"+c.suffix, c.text)
		if err := newExporter(t, plaintext(t, settings.GRPC, srv.GRPCURL())).ExportSpans(t.Context(), spans(1)); err != nil {
			t.Error(err)
		}
		t.Setenv("OTEL_EXPORTER_OTLP_"+c.suffix, "")
	}
	if n := srv.Count(otlptest.Traces); n != len(printed) {
		t.Errorf("%d spans", n)
	}
}

func TestSpeaksUp(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "HEADERS=a=1, b-c = x%20y ,d=": false, "ENDPOINT=http://h:1": false, "ENDPOINT=//h": false, "TIMEOUT= 100 ": false, "INSECURE=junk": false,
		"COMPRESSION=junk": false, "PROTOCOL=junk": false, "HEADERS=a b=1": true, "CLIENT_KEY=/k": true, "CLIENT_CERTIFICATE=/c": true, "HEADERS=a": true,
	} {
		name, value, _ := strings.Cut(text, "=")
		for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
			if got := speaksUp(func(n string) string {
				if n == prefix+name {
					return value
				}
				return ""
			}); got != want {
				t.Errorf("%s%s: %v", prefix, text, got)
			}
		}
	}
	if !speaksUp(func(n string) string { return map[string]string{"OTEL_GO_X_OBSERVABILITY": "True"}[n] }) {
		t.Error("the client would make metrics of its own")
	}
}
