package cli

import (
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// vectors are what the reference does, measured on it.
type vectors struct {
	SpanArg []struct {
		Arg, Name, Start, End, Error string
		Parent                       *string
	} `json:"span_arg"`
	SpanOrder []struct {
		Args, Order []string
		Errors      [][2]string
	} `json:"span_order"`
	EmitTimes []struct {
		Start, End string
		Error      bool
		Result     *struct {
			StartNS int64 `json:"start_ns"`
			EndNS   int64 `json:"end_ns"`
		}
	} `json:"emit_times"`
}

func loadVectors(t *testing.T) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.SpanArg) == 0 || len(v.SpanOrder) == 0 || len(v.EmitTimes) == 0 {
		t.Fatal("the vectors are incomplete")
	}
	return v
}

func TestSpanArgumentsOfTheReference(t *testing.T) {
	kinds := map[string]error{
		"field_count": errFieldCount, "missing_name": errMissingName, "missing_timestamp": errMissingTime,
		"unparseable_timestamp": errNoNumber, "non_finite": errNotFinite,
	}
	for _, c := range loadVectors(t).SpanArg {
		got, err := parseSpanArg(c.Arg)
		if c.Error != "" {
			if kinds[c.Error] == nil || !errors.Is(err, kinds[c.Error]) {
				t.Errorf("%q: %v, want %s", c.Arg, err, c.Error)
			}
			continue
		}
		start, _ := new(big.Rat).SetString(c.Start)
		end, _ := new(big.Rat).SetString(c.End)
		parent := ""
		if c.Parent != nil {
			parent = *c.Parent
		}
		if err != nil || got.name != c.Name || got.parent != parent || got.start.Cmp(start) != 0 || got.end.Cmp(end) != 0 {
			t.Errorf("%q: got %+v, %v", c.Arg, got, err)
		}
	}
}

func TestOrderOfSpansOfTheReference(t *testing.T) {
	for _, c := range loadVectors(t).SpanOrder {
		var spans []spanArg
		for _, text := range c.Args {
			s, err := parseSpanArg(text)
			if err != nil {
				t.Fatal(err)
			}
			spans = append(spans, s)
		}
		ordered, faults := orderSpans(spans)
		var names []string
		for _, s := range ordered {
			names = append(names, s.name)
		}
		var got [][2]string
		for _, f := range faults {
			got = append(got, [2]string{f.kind, f.name})
		}
		if !slices.Equal(names, c.Order) && len(names)+len(c.Order) > 0 || !slices.Equal(got, c.Errors) && len(got)+len(c.Errors) > 0 {
			t.Errorf("%v: got %v and %v, want %v and %v", c.Args, names, got, c.Order, c.Errors)
		}
	}
}

// TestTimesOfTheReference: exact to the nanosecond, and inverted by 30 ms at most.
func TestTimesOfTheReference(t *testing.T) {
	for _, c := range loadVectors(t).EmitTimes {
		ordered, faults := checkSpans([]string{"x," + c.Start + "," + c.End})
		if c.Error != (len(faults) > 0) {
			t.Errorf("%s to %s: %v", c.Start, c.End, faults)
		}
		if c.Error || len(faults) > 0 {
			continue
		}
		start, end := instant(ordered[0].start), instant(ordered[0].end)
		if end.Before(start) {
			end = start
		}
		if start.UnixNano() != c.Result.StartNS || end.UnixNano() != c.Result.EndNS {
			t.Errorf("%s to %s: got %d to %d", c.Start, c.End, start.UnixNano(), end.UnixNano())
		}
	}
	for text, want := range map[string]error{"1e999999999": errNotFinite, "0x10": errNoNumber, "1_0": errNoNumber, "nan": errNotFinite, "9e15": errNoNumber, "1e-999999": nil} {
		if _, err := seconds(text); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestEmittedSpansReachAReceiver(t *testing.T) {
	server := otlptest.Start(t)
	t.Setenv("NEMO_LENS_ENDPOINT", server.HTTPURL())
	t.Setenv("NEMO_LENS_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_SERVICE_NAME", "other")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=blue,slurm.nnodes=4")
	status, out, stderr := command(t, nil, "emit-spans", "--service", "launcher",
		"--span", "child,1700000001.000000001,1700000002,root", "--span", "root,1700000000.5,1700000003", "--span", "early,1700000001.01,1700000001")
	if status != exitOK {
		t.Fatalf("status %d, %s", status, stderr)
	}
	if want := "root                                  2.500s\nearly                                 0.000s\nchild                                 1.000s -> root\n"; out != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
	spans := server.Spans()
	root, child, early := otlptest.One(t, spans, "root"), otlptest.One(t, spans, "child"), otlptest.One(t, spans, "early")
	if child.Start.UnixNano() != 1700000001000000001 || child.ParentSpanID != root.SpanID || child.TraceID != root.TraceID || early.TraceID == root.TraceID {
		t.Errorf("root %+v, child %+v", root, child)
	}
	if !early.End.Equal(early.Start) {
		t.Errorf("a span that is inverted by 10 ms takes %s", early.End.Sub(early.Start))
	}
	if root.Resource["service.name"] != "launcher" || root.Resource["team"] != "blue" || root.Resource["slurm.nnodes"] != int64(4) {
		t.Errorf("resource %v", root.Resource)
	}
}

func TestEmitIsAllOrNothing(t *testing.T) {
	server := otlptest.Start(t)
	t.Setenv("NEMO_LENS_ENDPOINT", server.HTTPURL())
	t.Setenv("NEMO_LENS_PROTOCOL", "http/protobuf")
	for _, args := range [][]string{
		{"a,1,2", "b,1,x"}, {"a,1,2", "b,2,1"}, {"a,1,2", "a,1,2"}, {"a,1,2,b"}, {"a,1,2,a"}, {"a"},
	} {
		line := []string{"emit-spans", "--service", "s"}
		for _, a := range args {
			line = append(line, "--span", a)
		}
		status, out, stderr := command(t, nil, line...)
		if status != exitFailed || out != "" || !strings.Contains(stderr, "nothing emitted") {
			t.Errorf("%v: status %d, %q, %q", args, status, out, stderr)
		}
	}
	if n := len(server.Spans()); n != 0 {
		t.Errorf("%d spans arrived", n)
	}
	for _, line := range [][]string{{"emit-spans", "--span", "a,1,2"}, {"emit-spans", "--service", "s"}} {
		if status, _, _ := command(t, nil, line...); status != exitUsage {
			t.Errorf("%v: status %d", line, status)
		}
	}
}

func TestEmitSaysWhenNothingArrives(t *testing.T) {
	t.Setenv("NEMO_LENS_ENDPOINT", "http://"+otlptest.ClosedAddr(t))
	t.Setenv("NEMO_LENS_SHUTDOWN_TIMEOUT", "500ms")
	status, out, stderr := command(t, nil, "emit-spans", "--service", "s", "--span", "a,1,2")
	if status != exitNotSent || out != "" || !strings.Contains(stderr, "1 of 1 spans lost") {
		t.Errorf("status %d, %q, %q", status, out, stderr)
	}
	t.Setenv("NEMO_LENS_EXPORTER", "otpl")
	if status, _, stderr := command(t, nil, "emit-spans", "--service", "s", "--span", "a,1,2"); status != exitNotSent || !strings.Contains(stderr, `did you mean "otlp"?`) {
		t.Errorf("status %d, %q", status, stderr)
	}
}

func TestSlurmAttributes(t *testing.T) {
	host, _ := os.Hostname()
	job := map[string]string{
		"SLURM_JOB_ID": "12350", "SLURM_ARRAY_JOB_ID": "12345", "SLURM_ARRAY_TASK_ID": "7", "SLURM_JOB_NAME": "it's a job", "SLURM_TOPOLOGY_ADDR": "s1.n1",
		"OTEL_RESOURCE_ATTRIBUTES": "team=blue,slurm.job.name=mine,host.name=old",
	}
	for _, c := range []struct {
		stage, image string
		env          map[string]string
		has, hasNot  []string
	}{
		{"sbatch", "", job, []string{"team=blue", "slurm.job.name=mine", "slurm.job.id=12345_7", "host.name=old"}, []string{"topology", "container"}},
		{"task", "nemo:25.01", job, []string{"slurm.topology.addr=s1.n1", "host.name=old", "nv.dl.launch.container.image=nemo%3A25.01"}, []string{"host.name=" + host}},
		{"task", "", map[string]string{}, []string{"host.name=" + host}, []string{"slurm"}},
		{"sbatch", "", map[string]string{}, nil, []string{"host.name", "slurm"}},
		{"sbatch", "", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_NAME": "it's; rm"}, []string{"slurm.job.name=it%27s%3B%20rm"}, nil},
	} {
		line, _, err := slurmExport(c.stage, c.image, func(name string) string { return c.env[name] })
		if err != nil || !strings.HasPrefix(line, "export OTEL_RESOURCE_ATTRIBUTES=") || strings.Contains(line, "\n") {
			t.Errorf("%s: %q, %v", c.stage, line, err)
		}
		for _, want := range c.has {
			if !strings.Contains(line, want) {
				t.Errorf("%s: %q is missing in %s", c.stage, want, line)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(line, not) {
				t.Errorf("%s: %q is in %s", c.stage, not, line)
			}
		}
	}
	for _, args := range [][]string{{"--stage", "sbatch", "--container-image", "x"}, {"--stage", "job"}, {}} {
		if status, out, stderr := command(t, nil, append([]string{"set-slurm-resource-attrs"}, args...)...); status != exitUsage || out != "" || stderr == "" {
			t.Errorf("%v: status %d, %q, %q", args, status, out, stderr)
		}
	}
}

func TestQuotingForAShell(t *testing.T) {
	for text, want := range map[string]string{"": "''", "a=b,c:d/e.f-g%20": "a=b,c:d/e.f-g%20", "a b": "'a b'", "it's": `'it'"'"'s'`, "$(x)": "'$(x)'", "é": "'é'"} {
		if got := shellQuote(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	status, out, _ := command(t, nil, "groups")
	if status != exitOK {
		t.Errorf("status %d", status)
	}
	golden(t, "groups", out)
	_, out, _ = command(t, nil, "groups", "default,rollout")
	if want := "base: checkpoint,evaluate,job\nnemo_gym: http_client,job,rollout,server,startup\n"; out != want {
		t.Errorf("got %s", out)
	}
	status, out, stderr := command(t, nil, "groups", "step,per_stpe", "--json")
	if status != exitFailed || !strings.Contains(stderr, `did you mean "per_step"?`) || !strings.Contains(out, `"unknown": [
    "per_stpe"
  ]`) {
		t.Errorf("status %d, %s, %s", status, out, stderr)
	}
}

// TestHelp: every command explains itself, with an example.
func TestHelp(t *testing.T) {
	root := newRoot(streams{})
	for _, c := range append(root.Commands(), root) {
		if c.Name() == "completion" || c.Name() == "help" {
			continue
		}
		if c.Short == "" || c.Long == "" || !strings.Contains(c.Example, "nemo-lens") {
			t.Errorf("%s: no description or no example", c.Name())
		}
		if status, out, stderr := command(t, nil, strings.Fields(strings.TrimPrefix(c.CommandPath(), "nemo-lens")+" --help")...); status != exitOK || stderr != "" || !strings.Contains(out, "Examples:") {
			t.Errorf("%s --help: status %d, %s%s", c.Name(), status, out, stderr)
		}
	}
	dir := filepath.Join(t.TempDir(), "man1")
	if status, _, stderr := command(t, nil, "man", dir); status != exitOK {
		t.Errorf("man: %s", stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "nemo-lens-view.1"))
	if err != nil || !strings.Contains(string(page), "critical path") {
		t.Errorf("the manual page of view: %v", err)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if status, out, _ := command(t, nil, "completion", shell); status != exitOK || len(out) < 1000 {
			t.Errorf("completion %s: status %d", shell, status)
		}
	}
}
