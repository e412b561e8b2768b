package e2e

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// overBoth runs test against a Collector of its own for each protocol, with the environment that sends
// there.
func overBoth(t *testing.T, test func(t *testing.T, c *collector, env []string)) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := startCollector(t)
			endpoint := map[string]string{"grpc": c.grpcURL, "http/protobuf": c.httpURL}[protocol]
			test(t, c, []string{
				"NEMO_LENS_ENABLED=true",
				"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint,
				"OTEL_SERVICE_NAME=e2e-service",
				"NEMO_LENS_RUN_ID=run-7",
				"OTEL_RESOURCE_ATTRIBUTES=team=blue,deployment.environment.name=test",
			})
		})
	}
}

func TestTraceReachesACollector(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, c *collector, env []string) {
		code, stderr := runProgram(t, append(env, "NEMO_LENS_SPAN_GROUPS=per_step"), "tree")
		if code != 0 {
			t.Fatalf("exit code %d:\n%s", code, stderr)
		}
		c.stop(t)
		spans := c.spans(t)

		otlptest.CheckWhole(t, spans)
		const want = `program.job
├─ program.step
│  ├─ program.forward
│  └─ program.optimizer
└─ program.step
   ├─ program.forward
   └─ program.optimizer
`
		if got := otlptest.Tree(spans); got != want {
			t.Fatalf("got\n%swant\n%s", got, want)
		}

		job := otlptest.One(t, spans, "program.job")
		if loss, ok := job.Attributes["loss"].(float64); !ok || !math.IsNaN(loss) {
			t.Errorf("loss %v, want NaN", job.Attributes["loss"])
		}
		for key, want := range map[string]any{
			"title": "two words", "latin1": "caf\ufffd", "whole": int64(7), "yes": true,
			"list": []any{"a", "b"}, "password": "[REDACTED]",
		} {
			if got := job.Attributes[key]; !reflect.DeepEqual(got, want) {
				t.Errorf("attribute %s: %#v, want %#v", key, got, want)
			}
		}
		for i, step := range otlptest.Named(spans, "program.step") {
			if !step.End.After(step.Start) || step.Start.Before(job.Start) || step.End.After(job.End) {
				t.Errorf("step %d from %v to %v is not within the job, from %v to %v", i, step.Start, step.End, job.Start, job.End)
			}
			failed := step.Attributes["dl.iteration"] == int64(1)
			if (step.StatusCode == codes.Error) != failed {
				t.Errorf("step %v: status %v", step.Attributes, step.StatusCode)
			}
			for _, child := range otlptest.Children(spans, step) {
				wantError := failed && child.Name == "program.optimizer"
				if (child.StatusCode == codes.Error) != wantError {
					t.Errorf("%s of step %v: status %v %q", child.Name, step.Attributes, child.StatusCode, child.StatusMessage)
				}
				if !wantError {
					continue
				}
				exception, ok := child.Event("exception")
				if child.StatusMessage != "gradient is not finite" || !ok ||
					exception.Attributes["exception.message"] != "gradient is not finite" {
					t.Errorf("%s: status %q, events %+v", child.Name, child.StatusMessage, child.Events)
				}
			}
		}
		for _, s := range spans {
			for key, want := range map[string]any{
				"service.name": "e2e-service", "nemo.run.id": "run-7", "team": "blue", "deployment.environment.name": "test",
			} {
				if s.Resource[key] != want {
					t.Errorf("%s: resource %s: %v, want %v", s.Name, key, s.Resource[key], want)
				}
			}
			scope := "nemo.lens.helpers" // of spans that are managed by hand
			if s.Name == "program.forward" {
				scope = "nemo.lens" // of wrapped functions
			}
			if s.Scope.Name != scope {
				t.Errorf("%s: scope %q, want %s", s.Name, s.Scope.Name, scope)
			}
		}
	})
}

// The variable alone decides what arrives.
func TestGroupsDecideWhatReachesACollector(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, c *collector, env []string) {
		if code, stderr := runProgram(t, append(env, "NEMO_LENS_SPAN_GROUPS=job,optimizer"), "tree"); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, stderr)
		}
		c.stop(t)
		const want = "program.job\n├─ program.optimizer\n└─ program.optimizer\n"
		if got := otlptest.Tree(c.spans(t)); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// A Collector takes 4 MiB over gRPC by default. One full batch of these spans is larger.
func TestBatchesThatAreTooLargeAreSplit(t *testing.T) {
	t.Parallel()
	const n = 1000
	overBoth(t, func(t *testing.T, c *collector, env []string) {
		if code, stderr := runProgram(t, env, "bulk", strconv.Itoa(n)); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, stderr)
		}
		c.stop(t)
		spans := c.spans(t)
		otlptest.CheckWhole(t, spans)
		seen := map[any]bool{}
		for _, s := range otlptest.Named(spans, "program.chunk") {
			seen[s.Attributes["number"]] = true
			if text, _ := s.Attributes["content"].(string); len(text) != 10_000 || strings.Trim(text, "x") != "" {
				t.Errorf("chunk %v: %d bytes, want 10000", s.Attributes["number"], len(text))
			}
		}
		if len(seen) != n {
			t.Errorf("%d different chunks, want %d", len(seen), n)
		}
	})
}

// With nobody there, the program ends soon and says how many spans it lost, and where they were to go.
func TestWithoutACollectorTheLossIsReported(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			addr := otlptest.ClosedAddr(t)
			code, stderr := runProgram(t, []string{
				"NEMO_LENS_ENABLED=true",
				"NEMO_LENS_SPAN_GROUPS=per_step",
				"NEMO_LENS_SHUTDOWN_TIMEOUT=1s",
				"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + addr,
			}, "tree")
			lost := lineWith(stderr, "7 of 7 spans lost")
			if code != 1 || !strings.Contains(lost, addr) {
				t.Errorf("exit code %d, want 1 and a line with the 7 spans lost and %s:\n%s", code, addr, stderr)
			}
		})
	}
}

// lineWith returns the first line with part in it.
func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}
