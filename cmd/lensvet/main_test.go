package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	library = "../.." // the module of lens

	// broken holds loops that grow, and the same loops without the fault.
	broken = "./internal/failuremodes/testdata/growth"
)

var findings = []string{
	"growth.go:18:3: ctx is from outside the loop",
	"declare it in the body: ctx, span := lens.ManagedSpan(…)",
	"requests.go:13:3: req is from outside the loop",
	"declare it in the body: req := req.WithContext(…)",
}

func build(t *testing.T) (tool string) {
	t.Helper()
	tool = filepath.Join(t.TempDir(), "lensvet")
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return tool
}

// run runs in the module of lens, as its users would in theirs. It uses the build
// without the SDK, where the loop is just as wrong and far fewer packages have to
// be looked through.
func run(args ...string) ([]byte, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = library
	cmd.Env = append(os.Environ(), "GOFLAGS=-tags=lens_noop")
	return cmd.CombinedOutput()
}

func TestVetTool(t *testing.T) {
	tool := build(t)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"as go vet's tool", []string{"go", "vet", "-vettool=" + tool, broken}},
		{"by itself", []string{tool, broken}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := run(c.args...)
			if exit := new(exec.ExitError); !errors.As(err, &exit) {
				t.Errorf("the exit status is 0: %v", err)
			}
			text := string(out)
			for _, want := range findings {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if n := strings.Count(text, "is from outside the loop"); n != 2 {
				t.Errorf("%d reports, want 2, in\n%s", n, text)
			}
		})
	}
	t.Run("a package without fault", func(t *testing.T) {
		out, err := run("go", "vet", "-vettool="+tool, "./internal/report/nearest", ".")
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
