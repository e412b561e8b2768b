package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// TestCheckNamesTheRightFault has a receiver with each fault that people meet, and the
// words that name it and say what to change.
func TestCheckNamesTheRightFault(t *testing.T) {
	good, secure := otlptest.Start(t), otlptest.Start(t, otlptest.WithTLS())
	refusing, missing, unmeasured := otlptest.Start(t), otlptest.Start(t), otlptest.Start(t)
	refusing.SetFault(otlptest.Reject(codes.Unauthenticated, 401))
	missing.SetFault(otlptest.Reject(codes.Unimplemented, 404))
	unmeasured.SetFault(otlptest.Reject(codes.Unimplemented, 404).On(otlptest.Metrics))
	const grpc, http = "grpc", "http/protobuf"
	for _, c := range []struct {
		name, endpoint, protocol string
		status                   int
		says                     []string
	}{
		{"a good one over gRPC", good.GRPCURL(), grpc, exitOK, []string{"traces   otlp to grpc://", ": taken in", "all is well"}},
		{"a good one over HTTP", good.HTTPURL(), http, exitOK, []string{": taken in", "all is well"}},
		{"nothing listening", "http://" + otlptest.ClosedAddr(t), grpc, exitFailed, []string{"nothing listens there: start the receiver"}},
		{"nothing listening for HTTP", "http://" + otlptest.ClosedAddr(t), http, exitFailed, []string{"nothing listens there: start the receiver"}},
		{"gRPC to a port for HTTP", good.HTTPURL(), grpc, exitFailed, []string{"set NEMO_LENS_PROTOCOL to http/protobuf"}},
		{"HTTP to a port for gRPC", good.GRPCURL(), http, exitFailed, []string{"set NEMO_LENS_PROTOCOL to grpc"}},
		{"TLS to plaintext, gRPC", strings.Replace(good.GRPCURL(), "http://", "https://", 1), grpc, exitFailed, []string{"write http:// at the beginning of NEMO_LENS_ENDPOINT"}},
		{"TLS to plaintext, HTTP", strings.Replace(good.HTTPURL(), "http://", "https://", 1), http, exitFailed, []string{"write http:// at the beginning of NEMO_LENS_ENDPOINT"}},
		{"plaintext to TLS, gRPC", strings.Replace(secure.GRPCURL(), "https://", "http://", 1), grpc, exitFailed, []string{"write https:// at the beginning of NEMO_LENS_ENDPOINT"}},
		{"plaintext to TLS, HTTP", strings.Replace(secure.HTTPURL(), "https://", "http://", 1), http, exitFailed, []string{"write https:// at the beginning of NEMO_LENS_ENDPOINT"}},
		{"a certificate of its own, gRPC", secure.GRPCURL(), grpc, exitFailed, []string{"name the receiver's authority in NEMO_LENS_CERTIFICATE"}},
		{"a certificate of its own, HTTP", secure.HTTPURL(), http, exitFailed, []string{"name the receiver's authority in NEMO_LENS_CERTIFICATE"}},
		{"401, gRPC", refusing.GRPCURL(), grpc, exitFailed, []string{"check the credentials in NEMO_LENS_HEADERS"}},
		{"401, HTTP", refusing.HTTPURL(), http, exitFailed, []string{"check the credentials in NEMO_LENS_HEADERS"}},
		{"404", missing.HTTPURL(), http, exitFailed, []string{"check the path in NEMO_LENS_ENDPOINT"}},
		{"a black hole", "http://" + otlptest.SilentAddr(t), http, exitFailed, []string{"it does not answer"}},
		{"no metrics, gRPC", unmeasured.GRPCURL(), grpc, exitFailed, []string{"traces   otlp", ": taken in", "this receiver takes no metrics: set NEMO_LENS_METRICS_ENABLED to false"}},
		{"no metrics, HTTP", unmeasured.HTTPURL(), http, exitFailed, []string{"this receiver takes no metrics: set NEMO_LENS_METRICS_ENABLED to false"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("NEMO_LENS_ENABLED", "1")
			t.Setenv("NEMO_LENS_ENDPOINT", c.endpoint)
			t.Setenv("NEMO_LENS_PROTOCOL", c.protocol)
			t.Setenv("NEMO_LENS_HEADERS", "authorization=Bearer%20hunter2,x-team=blue")
			status, out, stderr := command(t, nil, "check", "--timeout", "2s")
			if status != c.status || stderr != "" {
				t.Errorf("status %d, want %d: %s\n%s", status, c.status, stderr, out)
			}
			for _, want := range append(c.says, "headers authorization, x-team") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not said:\n%s", want, out)
				}
			}
			if strings.Contains(out, "hunter2") {
				t.Errorf("a secret is shown:\n%s", out)
			}
		})
	}
	if n := good.Count(otlptest.Traces); n != 0 {
		t.Errorf("check has sent %d spans", n)
	}
}

func TestCheckShowsWhereValuesComeFrom(t *testing.T) {
	t.Setenv("JOB_OTEL_ENABLED", "1")
	t.Setenv("NEMO_LENS_SPAN_GROUPS", "step,rollout")
	t.Setenv("NEMO_LENS_EXPORT_STRATEGY", "first_rank_per_node")
	t.Setenv("NEMO_LENS_EXPORTER", "file")
	file := filepath.Join(t.TempDir(), "new", "{rank}.jsonl")
	t.Setenv("NEMO_LENS_EXPORTER_FILE", file)
	t.Setenv("NEMO_LENS_EXPROTER", "otlp")
	t.Setenv("NEMO_LENS_RUN_ID", "run-7")
	status, out, stderr := command(t, nil, "check", "--prefix", "JOB_OTEL", "--fallback-prefix", "NEMO_LENS", "--json")
	if status != exitOK {
		t.Fatalf("status %d, %s%s", status, out, stderr)
	}
	var d checkDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, s := range d.Settings {
		sources[s.Name] = s.Value + " " + s.Source
	}
	for name, want := range map[string]string{"enabled": "true JOB_OTEL_ENABLED", "span_groups": `"step,rollout" NEMO_LENS_SPAN_GROUPS`, "export_rank": "-1 default"} {
		if sources[name] != want {
			t.Errorf("%s: %s, want %s", name, sources[name], want)
		}
	}
	if strings.Join(d.Groups, ",") != "rollout,step" || d.RunID != "run-7" || len(d.Signals) != 3 {
		t.Errorf("%+v", d)
	}
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], `did you mean "NEMO_LENS_EXPORTER"?`) {
		t.Errorf("warnings %v", d.Warnings)
	}
	if at := d.Signals[0].Where; !strings.Contains(at, "0.jsonl") {
		t.Errorf("spans go to %s", at)
	}
	if _, err := os.Stat(strings.Replace(file, "{rank}", "0", 1)); err == nil {
		t.Error("check has left a file behind")
	}
}

func TestCheckFindsTheRanksThatExport(t *testing.T) {
	t.Setenv("NEMO_LENS_ENABLED", "1")
	t.Setenv("NEMO_LENS_EXPORTER", "none")
	for strategy, want := range map[string]string{"single_rank": "1 of 16 export: 15\n", "all_ranks": "16 of 16 export: 0-15\n"} {
		t.Setenv("NEMO_LENS_EXPORT_STRATEGY", strategy)
		status, out, _ := command(t, nil, "check", "--world-size", "16")
		if status != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: status %d\n%s", strategy, status, out)
		}
	}
}

func TestCheckHasAStatusForScripts(t *testing.T) {
	t.Setenv("NEMO_LENS_EXPORTER", "none")
	plain := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env    map[string]string
		status int
		says   []string
	}{
		{map[string]string{"NEMO_LENS_ENABLED": "1"}, exitOK, []string{"all is well"}},
		{map[string]string{}, exitOff, []string{"telemetry is off: set NEMO_LENS_ENABLED to true"}},
		{map[string]string{"NEMO_LENS_ENABLED": "1", "OTEL_SDK_DISABLED": "true"}, exitOff, []string{"OTEL_SDK_DISABLED is true"}},
		{map[string]string{"NEMO_LENS_ENABLED": "perhaps", "NEMO_LENS_EXPORT_RANK": "x"}, exitUsage, []string{"wrong    NEMO_LENS_ENABLED=\"perhaps\"", "wrong    NEMO_LENS_EXPORT_RANK=\"x\""}},
		{map[string]string{"NEMO_LENS_ENABLED": "1", "NEMO_LENS_EXPORTER": "otpl"}, exitUsage, []string{`did you mean "otlp"?`}},
		{map[string]string{"NEMO_LENS_ENABLED": "1", "NEMO_LENS_EXPORTER": "file", "NEMO_LENS_EXPORTER_FILE": filepath.Join(plain, "x")}, exitFailed, []string{"name a file that can be written"}},
	} {
		t.Run("", func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			status, out, stderr := command(t, nil, "check")
			if status != c.status || stderr != "" {
				t.Errorf("%v: status %d, want %d: %s\n%s", c.env, status, c.status, stderr, out)
			}
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("%v: %q is not said:\n%s", c.env, want, out)
				}
			}
		})
	}
}
