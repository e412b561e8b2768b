package cli

import (
	"encoding/csv"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	spans "github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/internal/export/otlpfile"
	"github.com/nemo-lens/lens/semconv"
)

// TestViewOfBothExporters records the same with the file exporter and with the console
// exporter, and looks at both.
func TestViewOfBothExporters(t *testing.T) {
	look := func(exporter string) string {
		t.Setenv("NEMO_LENS_ENABLED", "1")
		t.Setenv("NEMO_LENS_EXPORTER", exporter)
		t.Setenv("NEMO_LENS_EXPORTER_FILE", filepath.Join(t.TempDir(), "{run_id}-{rank}.jsonl"))
		t.Setenv("NEMO_LENS_RUN_ID", "run-7")
		t.Setenv("NEMO_LENS_SPAN_GROUPS", "all")
		t.Setenv("NEMO_LENS_LOGS_ENABLED", "1")
		cfg, err := lens.FromEnv("", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		handle, err := lens.SetupTelemetry(t.Context(), cfg, lens.WithRank(3, 4), lens.WithExportStrategy(func(lens.Config, int, int) (bool, error) { return true, nil }))
		if err != nil {
			t.Fatal(err)
		}
		at := func(ms int) time.Time { return time.Unix(1_700_000_000, 1).Add(time.Duration(ms) * time.Millisecond) }
		emit := func(sc trace.SpanContext, group lens.SpanGroup, name string, from, to int, attrs ...attribute.KeyValue) trace.SpanContext {
			ctx := trace.ContextWithSpanContext(t.Context(), sc)
			sc, err := lens.EmitSpan(ctx, group, name, at(from), at(to), attrs...)
			if err != nil {
				t.Fatal(err)
			}
			return sc
		}
		job := emit(trace.SpanContext{}, lens.Job, "train.job", 0, 100, attribute.String("title", "two \"words\"\n\x01"), attribute.Float64("loss", math.NaN()))
		for i := range 3 {
			step := emit(job, lens.Step, "train.step", 10+20*i, 25+20*i, semconv.DLIterationKey.Int(i), attribute.StringSlice("list", []string{"a", "b"}))
			emit(step, lens.Optimizer, "train.optimizer", 20+20*i, 25+20*i)
		}
		emit(job, lens.Checkpoint, "save", 90, 95)
		// One that failed, at a time that is not known; the others can be compared exactly.
		_, failed := lens.ManagedSpan(trace.ContextWithSpanContext(t.Context(), job), lens.Evaluate, "train.evaluate")
		wrong := errors.New("no data")
		lens.End(failed, &wrong)
		if err := handle.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		status, out, stderr := command(t, nil, "view", "--csv", "--show", "spans", filepath.Join(filepath.Dir(cfg.ExporterFile), "run-7-3.jsonl"))
		if status != exitOK || stderr != "" {
			t.Fatalf("%s: status %d, %s", exporter, status, stderr)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, r := range rows {
			if r[3] == "train.evaluate" {
				r[0], r[1] = "", ""
			}
			if r[3] == "save" && exporter == "console" {
				if r[4] != "save" {
					t.Errorf("the console exporter has the group %q", r[4])
				}
				r[4] = "checkpoint" // only files say so
			}
			kept = append(kept, strings.Join(r[:8], " ")) // but for the ids, which are random
		}
		return strings.Join(kept, "\n")
	}
	file, console := look("file"), look("console")
	if file != console {
		t.Errorf("the file exporter gives\n%s\nand the console exporter\n%s", file, console)
	}
	const want = `start_unix_ns duration_ns process name group step rollout error
1700000000000000001 100000000 rank 3 train.job job   false
1700000000010000001 15000000 rank 3 train.step step 0  false
1700000000020000001 5000000 rank 3 train.optimizer optimizer 0  false
1700000000030000001 15000000 rank 3 train.step step 1  false
1700000000040000001 5000000 rank 3 train.optimizer optimizer 1  false
1700000000050000001 15000000 rank 3 train.step step 2  false
1700000000060000001 5000000 rank 3 train.optimizer optimizer 2  false
1700000000090000001 5000000 rank 3 save checkpoint   false
  rank 3 train.evaluate evaluate   true`
	if file != want {
		t.Errorf("got\n%s\nwant\n%s", file, want)
	}
}

func TestTheReaderKnowsTheAttributeOfGroups(t *testing.T) {
	if spans.GroupKey != string(otlpfile.GroupKey) {
		t.Errorf("files have %s and the reader looks for %s", otlpfile.GroupKey, spans.GroupKey)
	}
}
