package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

var update = flag.Bool("update", false, "write the golden files anew")

// command runs a command line in an environment of its own.
func command(t testing.TB, in io.Reader, args ...string) (status int, out, stderr string) {
	t.Helper()
	env := map[string]string{"LANG": "C.UTF-8"}
	var o, e bytes.Buffer
	status = run(t.Context(), args, streams{in, &o, &e, func(name string) string { return env[name] }})
	return status, o.String(), e.String()
}

// runFiles writes the files of a run into a folder and returns their names.
func runFiles(t testing.TB, r tracegen.Run) []string {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for rank := range r.Ranks {
		name := filepath.Join(dir, fmt.Sprintf("rank-%d.jsonl", rank))
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.WriteRank(f, rank); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

var small = tracegen.Run{ID: "c0ffee", Ranks: 3, Steps: 4, Micro: 2, SlowRank: 1, Seed: 9, Start: 1_700_000_000e9, Batch: 8}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func TestViewGolden(t *testing.T) {
	files := runFiles(t, small)
	slower := small
	slower.Factor, slower.Seed = 1.2, 10
	later := runFiles(t, slower)
	for name, args := range map[string][]string{
		"view":           files,
		"view_ascii_60":  append([]string{"--ascii", "--width", "60"}, files...),
		"view_color":     append([]string{"--color", "always", "--show", "summary,waterfall", "--rank", "1", "--step", "2"}, files...),
		"view_step":      append([]string{"--step", "3", "--show", "waterfall,critical", "--width", "80"}, files...),
		"view_all":       append([]string{"--rank", "0", "--all", "--show", "waterfall", "--width", "80"}, files...),
		"view_names":     append([]string{"--name", "train.o*", "--name", "train.step", "--sort", "name"}, files...),
		"view_spans":     append([]string{"--show", "spans", "--lines", "5", "--width", "130"}, files...),
		"view_json":      append([]string{"--json", "--step", "1", "--show", "spans", "--name", "train.step"}, files...),
		"view_csv":       append([]string{"--csv"}, files...),
		"view_steps_csv": append([]string{"--csv", "--show", "steps"}, files...),
		"view_spans_csv": append([]string{"--csv", "--show", "spans", "--rank", "2", "--step", "4"}, files...),
		"view_critical":  append([]string{"--csv", "--show", "critical"}, files...),
		"compare":        append([]string{"--compare", filepath.Dir(files[0]), "--width", "150"}, later...),
		"compare_csv":    append([]string{"--compare", filepath.Dir(files[0]), "--csv"}, later...),
		"compare_json":   append([]string{"--compare", filepath.Dir(files[0]), "--json"}, later...),
	} {
		status, out, stderr := command(t, nil, append([]string{"view"}, args...)...)
		if status != exitOK || stderr != "" {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
		golden(t, name, out)
	}
}

func TestViewOfConsoleOutput(t *testing.T) {
	f, err := os.Open("../trace/testdata/console.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	status, out, stderr := command(t, f, "view", "-")
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d, %s", status, stderr)
	}
	golden(t, "view_console", out)
}

// TestViewOfDamagedFiles: what can be read is shown, and what cannot is said.
func TestViewOfDamagedFiles(t *testing.T) {
	files := runFiles(t, small)
	other := small
	other.ID, other.Seed = "decaf", 11
	files = append(files, runFiles(t, other)[0])
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], append([]byte("srun: job queued\n"), text[:len(text)-400]...), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := command(t, nil, append([]string{"view", "--show", "summary"}, files...)...)
	if status != exitOK || stderr != "" {
		t.Errorf("status %d, %s", status, stderr)
	}
	for _, want := range []string{"2 runs are mixed, choose with --run: c0ffee, decaf", "left out: 1 damaged line, 1 last line that is cut off; the first at " + files[0] + ":1: "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not said:\n%s", want, out)
		}
	}
	_, out, _ = command(t, nil, append([]string{"view", "--run", "dec", "--show", "summary"}, files...)...)
	if !strings.HasPrefix(out, "25 spans of 1 rank in 1 trace") {
		t.Errorf("one run of two:\n%s", out)
	}
}

// TestBadInputIsALine holds for every mistake: a line that says what is wrong,
// the status, and no stack trace.
func TestBadInputIsALine(t *testing.T) {
	files := runFiles(t, small)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes, empty := write("notes.txt", "dear diary\n"), write("empty.jsonl", "")
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, exitUsage, "nemo-lens: a command is missing; the commands are"},
		{[]string{"veiw"}, exitUsage, `there is no command "veiw"; did you mean "view"?`},
		{[]string{files[0]}, exitUsage, `did you mean "nemo-lens view ` + files[0] + `"?`},
		{[]string{"zzzzzz"}, exitUsage, `there is no command "zzzzzz"; the commands are`},
		{[]string{"view", "--steps", "3"}, exitUsage, "there is no flag --steps; did you mean --step?"},
		{[]string{"view", "--rank", "x", "--step", "9-1", "--from", "soon", files[0]}, exitUsage, `--rank: "x" is not a number or a range`},
		{[]string{"view", "--show", "sumary", files[0]}, exitUsage, `did you mean "summary"?`},
		{[]string{"view", "--sort", "size", files[0]}, exitUsage, `--sort: "size" is no order`},
		{[]string{"view", "--wait", "(", files[0]}, exitUsage, "--wait: error parsing regexp"},
		{[]string{"view", "--name", "[", files[0]}, exitUsage, `--name "[" is no pattern`},
		{[]string{"view", "--json", "--csv", files[0]}, exitUsage, "--json and --csv: choose one"},
		{[]string{"view", "--color", "blue", files[0]}, exitUsage, "--color"},
		{[]string{"view", "--max-spans", "0", files[0]}, exitUsage, "--max-spans"},
		{[]string{"view", "--compare", filepath.Join(dir, "none"), files[0]}, exitUsage, "--compare: "},
		{[]string{"view", notes}, exitFailed, notes + `: no spans: it looks like text, starting with "dear diary"`},
		{[]string{"view", empty}, exitFailed, empty + ": it is empty"},
		{[]string{"view", dir}, exitFailed, dir + ": it is a folder; name its files: " + dir + "/*.jsonl"},
		{[]string{"view", filepath.Join(dir, "none")}, exitFailed, "none: no such file or directory"},
		{[]string{"view", "-"}, exitFailed, "standard input: it is closed"},
		{[]string{"view", notes, files[0]}, exitFailed, "notes.txt: no spans"},
		{[]string{"view", "--html", filepath.Join(dir, "no", "x.html"), files[0]}, exitFailed, "no such file or directory"},
		{[]string{"view", "--width", "20", files[0]}, exitOK, "20 columns are too few: this is laid out for 40"},
	} {
		status, out, stderr := command(t, nil, c.args...)
		if status != c.status || !strings.Contains(stderr, c.says) || strings.Contains(stderr+out, "goroutine ") || strings.Contains(stderr, "a fault of nemo-lens") {
			t.Errorf("%q: status %d, %q; want %d and %q", c.args, status, stderr, c.status, c.says)
		}
		if n := strings.Count(stderr, "\n"); n > 4 {
			t.Errorf("%q: %d lines", c.args, n)
		}
	}
	// One bad file does not hide the good one.
	if _, out, _ := command(t, nil, "view", notes, files[0]); !strings.Contains(out, "25 spans") {
		t.Errorf("beside a bad file: %s", out)
	}
	// Standard input that ends in the middle.
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	status, out, _ := command(t, io.MultiReader(bytes.NewReader(text[:len(text)/2]), failing{}), "view")
	if status != exitFailed || out != "" {
		t.Errorf("standard input that fails: status %d, %s", status, out)
	}
	status, out, _ = command(t, bytes.NewReader(text[:len(text)/2]), "view")
	if status != exitOK || !strings.Contains(out, "1 last line that is cut off") {
		t.Errorf("standard input that ends early: status %d, %s", status, out)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("the pipe broke") }

func TestAFaultOfNemoLensIsALineToo(t *testing.T) {
	var stderr bytes.Buffer
	status := run(context.Background(), []string{"view", "-"}, streams{panicking{}, io.Discard, &stderr, os.Getenv})
	if status != exitFailed || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "please report it") {
		t.Errorf("status %d, %s", status, stderr.String())
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("oh no") }

func TestPagesAndPerfettoTraces(t *testing.T) {
	files := runFiles(t, small)
	dir := t.TempDir()
	html, json := filepath.Join(dir, "run.html"), filepath.Join(dir, "run.json")
	status, out, stderr := command(t, nil, append([]string{"view", "--html", html, "--perfetto", json}, files...)...)
	if status != exitOK || out != "" || !strings.Contains(stderr, "wrote "+html) || !strings.Contains(stderr, "https://ui.perfetto.dev") {
		t.Errorf("status %d, %q, %q", status, out, stderr)
	}
	for _, name := range []string{html, json} {
		if info, err := os.Stat(name); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
