package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// commandBinary is nemo-lens, of the module around this one.
var commandBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(bin, "nemo-lens")
	out, err := exec.Command("go", "build", "-C", "../..", "-o", path, "./cmd/nemo-lens").CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, nil
})

// TestLaunchersShareATraceWithTheirPrograms has a script inside a span, which emits spans
// and starts a program with lens of its own.
func TestLaunchersShareATraceWithTheirPrograms(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	lens, err := commandBinary()
	if err != nil {
		t.Fatal(err)
	}
	program, err := programBinary()
	if err != nil {
		t.Fatal(err)
	}
	script := `"$0" emit-spans --service launcher --span pull,1700000000,1700000001.5 --span unpack,1700000001,1700000001.25,pull && "$1" tree; exit 7`
	cmd := exec.Command(lens, "run", "--name", "launch", "--", "sh", "-c", script, lens, program)
	cmd.Env = append(cmd.Environ(), "NEMO_LENS_ENABLED=1", "NEMO_LENS_SPAN_GROUPS=job", "NEMO_LENS_RUN_ID=run-7", "NEMO_LENS_ENDPOINT="+c.grpcURL,
		"OTEL_RESOURCE_ATTRIBUTES=team=blue")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Fatalf("exit code %d, want that of the script: %v\n%s", code, err, out)
	}
	c.stop(t)
	spans := c.spans(t)
	otlptest.CheckWhole(t, spans)
	if ids := otlptest.TraceIDs(spans); len(ids) != 1 {
		t.Errorf("%d traces:\n%s", len(ids), otlptest.Tree(spans))
	}
	launch := otlptest.One(t, spans, "launch")
	for _, name := range []string{"pull", "program.job"} {
		if s := otlptest.One(t, spans, name); !s.IsChildOf(launch) {
			t.Errorf("%s is not below launch:\n%s", name, otlptest.Tree(spans))
		}
	}
	if s := otlptest.One(t, spans, "unpack"); !s.IsChildOf(otlptest.One(t, spans, "pull")) || s.Resource["service.name"] != "launcher" {
		t.Errorf("unpack: %+v", s)
	}
	if launch.Attributes["process.exit.code"] != int64(7) {
		t.Errorf("launch has %v", launch.Attributes)
	}
	for _, s := range spans {
		if s.Resource["team"] != "blue" || s.Resource["nemo.run.id"] != "run-7" {
			t.Errorf("%s of %v", s.Name, s.Resource)
		}
	}
	if !strings.Contains(string(out), "unpack") {
		t.Errorf("emit-spans says nothing:\n%s", out)
	}
}
