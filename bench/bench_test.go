package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The binary of the tests is the command too, when it is started by it.
func TestMain(m *testing.M) {
	if os.Getenv("LENS_BENCH_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "LENS_BENCH_MAIN=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// Every scenario runs one round of next to nothing, and measures what it says.
func TestScenarios(t *testing.T) {
	number := regexp.MustCompile(`\| *[0-9]`)
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.name == "sizes" && testing.Short() {
				t.Skip("it links five programs")
			}
			plot := filepath.Join(t.TempDir(), "memory.svg")
			out := command(t, "-tiny", "-table", s.name, "-plot", plot)
			if !strings.Contains(out, "\n### ") || !number.MatchString(out) {
				t.Errorf("no table with a number in it:\n%s", out)
			}
			for _, bad := range []string{"WRONG", "NaN", "Inf"} {
				if strings.Contains(out, bad) {
					t.Errorf("%s in the table:\n%s", bad, out)
				}
			}
			if s.name != "memory" {
				return
			}
			for file, want := range map[string]string{plot: "<polyline", strings.TrimSuffix(plot, ".svg") + ".csv": "\nlens,"} {
				if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), want) {
					t.Errorf("%s: error %v, no %q in\n%s", file, err, want, got)
				}
			}
		})
	}
}

func TestTablesInMarkdown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte("# Speed\n"+beginMarker+"\nold\n"+endMarker+"\nmore\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "-tiny", "-table", "setup", "-md", file)
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	if !strings.HasPrefix(text, "# Speed\n") || !strings.HasSuffix(text, endMarker+"\nmore\n") || strings.Contains(text, "old") || !strings.Contains(text, "### SetupTelemetry") {
		t.Errorf("got\n%s", text)
	}
}

func TestBootstrap(t *testing.T) {
	median, low, high := bootstrap([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	if median != 6 || low < 2 || low >= 6 || high <= 6 || high > 10 {
		t.Errorf("median %v, from %v to %v", median, low, high)
	}
}
