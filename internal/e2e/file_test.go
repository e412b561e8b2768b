package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// TestFilesAreReadByACollector posts each line of the file exporter to a real Collector as
// JSON over HTTP, and looks at the spans that come out. It also reads each line with the
// Collector's own decoders of JSON, as its receiver for files does; that receiver itself
// is not part of the Collector that is built here.
func TestFilesAreReadByACollector(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	dir := t.TempDir()
	code, stderr := runProgram(t, []string{
		"NEMO_LENS_ENABLED=true", "NEMO_LENS_SPAN_GROUPS=per_step", "NEMO_LENS_LOGS_ENABLED=true", "NEMO_LENS_RUN_ID=run-7",
		"NEMO_LENS_EXPORTER=file", "NEMO_LENS_EXPORTER_FILE=" + filepath.Join(dir, "{run_id}", "{rank}.jsonl"),
	}, "tree")
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run-7", "0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{"resourceSpans": "/v1/traces", "resourceMetrics": "/v1/metrics", "resourceLogs": "/v1/logs"}
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil {
			t.Fatalf("%v: %.300s", err, line)
		}
		for kind := range object {
			seen[kind] = true
			if n, err := decoded(kind, line); err != nil || n == 0 {
				t.Errorf("%s: the Collector's decoder finds %d: %v: %.300s", kind, n, err, line)
			}
			if err := post(c.httpURL+paths[kind], line); err != nil {
				t.Errorf("%s: %v: %.300s", kind, err, line)
			}
		}
	}
	if !seen["resourceSpans"] || !seen["resourceMetrics"] {
		t.Errorf("the file has lines of %v", seen)
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
		t.Errorf("got\n%swant\n%s", got, want)
	}
	job := otlptest.One(t, spans, "program.job")
	if loss, ok := job.Attributes["loss"].(float64); !ok || !math.IsNaN(loss) {
		t.Errorf("loss %v, want NaN", job.Attributes["loss"])
	}
	if job.Attributes["latin1"] != "caf\ufffd" || job.Attributes["password"] != "[REDACTED]" || job.Resource["nemo.run.id"] != "run-7" {
		t.Errorf("attributes %v of %v", job.Attributes, job.Resource)
	}
}

// decoded returns how many spans, data points or log records the Collector's decoder
// finds in a line.
func decoded(kind string, line []byte) (int, error) {
	switch kind {
	case "resourceSpans":
		out, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			return 0, err
		}
		return out.SpanCount(), nil
	case "resourceMetrics":
		out, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(line)
		if err != nil {
			return 0, err
		}
		return out.DataPointCount(), nil
	}
	out, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(line)
	if err != nil {
		return 0, err
	}
	return out.LogRecordCount(), nil
}

func post(url string, line []byte) error {
	response, err := http.Post(url, "application/json", bytes.NewReader(line))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	// A part that is refused is said in the body.
	if response.StatusCode != http.StatusOK || bytes.Contains(body, []byte("rejected")) {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}
