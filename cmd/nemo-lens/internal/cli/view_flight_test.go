//go:build unix && !aix && !solaris && !illumos

package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
)

// hangingRank records a process that has finished step 6 and is in an all-reduce of step 7.
// It returns the file, which goes on being written until the test ends.
func hangingRank(t *testing.T, dir string, rank int) string {
	t.Helper()
	r, err := flight.Open(flight.Options{Dir: dir, RunID: "run-1", Host: "node", Service: "trainer", Rank: rank, WorldSize: 2, Slots: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	now := time.Now()
	begin := func(id, parent byte, name string, before time.Duration, attrs ...attribute.KeyValue) int32 {
		s := flight.Start{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{byte(rank + 1), 7: id}, Name: name, Group: "step", Start: now.Add(-before).UnixNano(), Attributes: attrs}
		if parent != 0 {
			s.ParentID = trace.SpanID{byte(rank + 1), 7: parent}
		}
		return r.Begin(&s)
	}
	six := begin(1, 0, "train.step", 3*time.Second, attribute.Int("dl.iteration", 6), attribute.Float64("loss", 0.5), attribute.String("kept by", "the recorder"))
	r.End(six, now.Add(-2*time.Second).UnixNano(), codes.Error)
	begin(2, 0, "train.step", 2*time.Second, attribute.Int("dl.iteration", 7))
	begin(3, 2, "train.allreduce", time.Second)
	return r.Path()
}

// asLines is what the file exporter wrote of the same process: step 6, and step 7 if it ended.
func asLines(t *testing.T, dir string, rank int, ids ...byte) string {
	t.Helper()
	var spans []string
	for _, id := range ids {
		spans = append(spans, fmt.Sprintf(`{"traceId":"01%030d","spanId":"%02x%012d%02x","name":"train.step","startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"kept by","value":{"stringValue":"the exporter"}}]}`,
			0, rank+1, 0, id, time.Now().Add(-3*time.Second).UnixNano(), time.Now().Add(-2*time.Second).UnixNano()))
	}
	line := fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"dl.rank","value":{"intValue":"%d"}},{"key":"dl.world_size","value":{"intValue":"2"}},{"key":"nemo.run.id","value":{"stringValue":"run-1"}},`+
		`{"key":"service.name","value":{"stringValue":"trainer"}},{"key":"process.pid","value":{"intValue":"%d"}},{"key":"service.instance.id","value":{"stringValue":"x"}},{"key":"host.name","value":{"stringValue":"pod"}}]},"scopeSpans":[{"spans":[%s]}]}]}`,
		rank, os.Getpid(), strings.Join(spans, ","))
	path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", rank))
	if err := os.WriteFile(path, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// viewed is what view --json says.
type viewed struct {
	LeftOut   string `json:"left_out"`
	Processes int
	Ranks     []int
	Names     []struct {
		Name                string
		Count, Errors, Open int
	}
	Spans []struct {
		Name, Process, Group string
		Step                 *int
		Duration             int64 `json:"duration_ns"`
		Error, Open          bool
		Parent               string `json:"parent_span_id"`
		Attributes           map[string]any
	}
}

func viewJSON(t *testing.T, args ...string) (v viewed) {
	t.Helper()
	status, out, stderr := command(t, nil, append([]string{"view", "--json", "--show", "spans"}, args...)...)
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestViewOfFlightRecorders(t *testing.T) {
	dir := t.TempDir()
	zero, one := hangingRank(t, dir, 0), hangingRank(t, dir, 1)
	v := viewJSON(t, zero, one)
	if v.LeftOut != "" || v.Processes != 2 || len(v.Ranks) != 2 || len(v.Spans) != 6 {
		t.Fatalf("%+v", v)
	}
	for _, s := range v.Spans {
		finished := s.Step != nil && *s.Step == 6
		switch {
		case s.Step == nil, s.Group != "step", s.Open == finished, s.Error != finished:
			t.Errorf("%+v", s)
		case finished && (s.Duration != int64(time.Second) || s.Attributes["loss"] != 0.5 || s.Attributes["nemo.span.group"] != "step"):
			t.Errorf("the finished step: %+v", s)
		case s.Name == "train.allreduce" && (*s.Step != 7 || s.Parent == "" || s.Duration < int64(900*time.Millisecond) || s.Duration > int64(time.Minute)):
			t.Errorf("the hanging span: %+v", s)
		}
	}
	status, out, stderr := command(t, nil, "view", zero, one)
	if status != exitOK || stderr != "" || !strings.Contains(out, "6 spans of 2 ranks in 1 trace") ||
		!strings.Contains(out, "note: 4 spans are open, marked > and drawn to the last sign of life of the process") || strings.Count(out, "│>\n") != 4 {
		t.Errorf("status %d, %s\n%s", status, stderr, out)
	}
	if _, out, _ := command(t, nil, "view", "--rank", "1", "--show", "spans", zero, one); !strings.Contains(out, "3 spans of 1 rank") || strings.Count(out, "s>") != 2 {
		t.Errorf("one rank:\n%s", out)
	}
	if status, _, stderr := command(t, nil, "view", "--follow", zero); status != exitFailed || !strings.Contains(stderr, zero+": it is the file of a flight recorder, to which nothing is appended: view it without --follow") {
		t.Errorf("--follow: status %d, %s", status, stderr)
	}
	status, out, stderr = command(t, nil, "view", "--compare", dir, one)
	if status != exitOK || stderr != "" || !strings.Contains(out, "before: 6 spans of 2 ranks") {
		t.Errorf("--compare: status %d, %s\n%s", status, stderr, out)
	}
}

// TestViewOfFlightRecordersAndLines: what a file of lines has as well is taken from there,
// and both are of one process.
func TestViewOfFlightRecordersAndLines(t *testing.T) {
	dir := t.TempDir()
	zero, one := hangingRank(t, dir, 0), hangingRank(t, dir, 1)
	lines := asLines(t, dir, 0, 1)
	ended := asLines(t, t.TempDir(), 1, 1, 2) // step 7 ended after all
	for _, files := range [][]string{{zero, one, lines, ended}, {lines, ended, one, zero}} {
		v := viewJSON(t, files...)
		if v.LeftOut != "" || v.Processes != 2 || len(v.Spans) != 6 {
			t.Fatalf("%q: %+v", files, v)
		}
		exported, open := map[string]int{}, map[string]int{}
		for _, s := range v.Spans {
			if s.Attributes["kept by"] == "the exporter" {
				exported[s.Process]++
			}
			if s.Open {
				open[s.Process]++
			}
		}
		if exported["rank 0"] != 1 || exported["rank 1"] != 2 || open["rank 0"] != 2 || open["rank 1"] != 1 {
			t.Errorf("%q: exported %v, open %v", files, exported, open)
		}
	}
	if v := viewJSON(t, zero, zero); v.LeftOut != "3 duplicate spans" {
		t.Errorf("the same file twice: %q", v.LeftOut)
	}
}

func TestViewOfAFlightRecorderThatWrapped(t *testing.T) {
	r, err := flight.Open(flight.Options{Dir: t.TempDir(), RunID: "run-1", WorldSize: 1, Slots: 16})
	if err != nil {
		t.Fatal(err)
	}
	const all = 100
	var lines []string
	for i := range all {
		now := time.Now().UnixNano()
		lines = append(lines, fmt.Sprintf(`{"traceId":"01%030d","spanId":"01%012d%02x","name":"train.step","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`, 0, 0, i, now, now))
		r.End(r.Begin(&flight.Start{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1, 7: byte(i)}, Name: "train.step", Start: now}), now, codes.Unset)
	}
	r.Close()
	data, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	v := viewJSON(t, r.Path())
	kept := len(v.Spans)
	if want := fmt.Sprintf("%d earlier spans that their flight recorders have overwritten", all-kept); kept == 0 || kept == all || v.LeftOut != want {
		t.Errorf("%d spans, left out %q", kept, v.LeftOut)
	}
	// What was written to a file as well is not left out.
	exported := filepath.Join(t.TempDir(), "0.jsonl")
	for _, n := range []int{all, all - 3} {
		text := fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"dl.rank","value":{"intValue":"0"}},{"key":"dl.world_size","value":{"intValue":"1"}},{"key":"nemo.run.id","value":{"stringValue":"run-1"}}]},"scopeSpans":[{"spans":[%s]}]}]}`,
			strings.Join(lines[all-n:], ","))
		if err := os.WriteFile(exported, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		want := ""
		if n < all {
			want = "3 earlier spans that their flight recorders have overwritten"
		}
		if v := viewJSON(t, r.Path(), exported); v.LeftOut != want || v.Processes != 1 || len(v.Spans) != n {
			t.Errorf("with %d lines: %d spans of %d processes, left out %q", n, len(v.Spans), v.Processes, v.LeftOut)
		}
	}
	// The same bytes from standard input, packed and not.
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, in := range [][]byte{data, packed.Bytes()} {
		status, out, stderr := command(t, bytes.NewReader(in), "view", "-")
		if status != exitOK || stderr != "" || !strings.HasPrefix(out, fmt.Sprintf("%d spans of 1 rank", kept)) {
			t.Errorf("status %d, %s\n%s", status, stderr, out)
		}
	}
	// A file that is cut off, and one with a damaged header.
	cut, damaged := filepath.Join(t.TempDir(), "cut.flight"), filepath.Join(t.TempDir(), "damaged.flight")
	if err := os.WriteFile(cut, data[:len(data)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	if v := viewJSON(t, cut); !strings.Contains(v.LeftOut, "1 slot of a flight recorder that is cut off or was being filled") {
		t.Errorf("left out %q", v.LeftOut)
	}
	data[100] ^= 1
	if err := os.WriteFile(damaged, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := command(t, nil, "view", damaged); status != exitFailed || stderr != "nemo-lens view: "+damaged+": no spans: it looks like the file of a flight recorder, which has a damaged header: its checksum is wrong\n" {
		t.Errorf("status %d, %q", status, stderr)
	}
}
