//go:build unix && !aix && !solaris && !illumos

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/otlptest"
)

func recording(t *testing.T, dir string, rank int, name string) *flight.Recorder {
	t.Helper()
	r, err := flight.Open(flight.Options{Dir: dir, RunID: "run-1", Host: "node", Service: "trainer", Rank: rank, WorldSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	r.Begin(&flight.Start{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(rank + 1)}, Name: name, Start: time.Now().UnixNano(),
		Attributes: []attribute.KeyValue{attribute.Int("dl.iteration", 20)}})
	return r
}

func TestRecover(t *testing.T) {
	dir := t.TempDir()
	recording(t, dir, 0, "train.allreduce")
	recording(t, dir, 1, "train.forward")
	status, out, stderr := command(t, nil, "recover", dir)
	if status != exitOK || stderr != "" || !strings.Contains(out, "rank 0: in train.allreduce of step 20 for ") || !strings.Contains(out, "rank 1: in train.forward of step 20 for ") {
		t.Errorf("%d\n%s\n%s", status, out, stderr)
	}
	status, out, stderr = command(t, nil, "recover", "--json", dir)
	var report struct {
		Processes []struct{ State string } `json:"processes"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != exitOK || len(report.Processes) != 2 || report.Processes[0].State != "running" {
		t.Errorf("%d %v\n%s\n%s", status, err, out, stderr)
	}
	for args, want := range map[string]string{
		"":                   "recover takes one folder, 0 given",
		dir + " " + dir:      "recover takes one folder, 2 given",
		"--jsno " + dir:      "--json",
		dir + "/none":        "no such file or directory",
		"--run other " + dir: `is of the run "other"; the runs there are run-1`,
		t.TempDir():          "has no file of a flight recorder",
	} {
		status, out, stderr := command(t, nil, append([]string{"recover"}, strings.Fields(args)...)...)
		if status == exitOK || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%q: %d\n%s\n%s", args, status, out, stderr)
		}
	}
}

func TestRecoverExports(t *testing.T) {
	dir := t.TempDir()
	recording(t, dir, 0, "train.allreduce")
	srv := otlptest.Start(t)
	env := map[string]string{"NEMO_LENS_ENDPOINT": srv.GRPCURL()}
	var out, stderr bytes.Buffer
	status := run(t.Context(), []string{"recover", "--export", dir}, streams{nil, &out, &stderr, func(name string) string { return env[name] }})
	if status != exitOK || !strings.Contains(stderr.String(), "0 open spans of 0 processes were sent to grpc://") || !strings.Contains(stderr.String(), "; 1 processes are running and were left out") {
		t.Errorf("%d\n%s", status, stderr.String())
	}
	if n := len(srv.Spans()); n != 0 {
		t.Errorf("%d spans of a running process", n)
	}
}
