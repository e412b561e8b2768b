package otlpfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		pattern, run string
		rank         int
		want         string
	}{
		{DefaultName, "abc", 3, "nemo-lens-abc-3-42.jsonl"},
		{"x/{rank}/{rank}.jsonl", "", 0, "x/0/0.jsonl"},
		{"{run_id}.jsonl", "../../etc/passwd", 0, ".._.._etc_passwd.jsonl"},
		{"{run_id}/a", "..", 0, "__/a"},
		{"{run_id}", "", -1, "_"},
		{"{rank}", "", -1, "none"},
		{"{run_id}", "a:b c\x00{rank}é", 7, "a_b_c__rank__"},
		{"{run_id}", strings.Repeat("x", 300), 7, strings.Repeat("x", 100)},
		{"plain", "r", 1, "plain"},
	} {
		if got := Name(c.pattern, c.run, c.rank, 42); got != c.want {
			t.Errorf("Name(%q, %q, %d) is %q, want %q", c.pattern, c.run, c.rank, got, c.want)
		}
	}
}

func open(t *testing.T, path string, size int64, keep int) *File {
	t.Helper()
	f, err := Open(path, size, keep, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, f *File, text string) {
	t.Helper()
	if n, err := f.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%d, %v", n, err)
	}
}

func TestAFileIsRotatedBySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "spans.jsonl")
	f := open(t, path, 20, 2)
	for i := range 9 {
		write(t, f, fmt.Sprintf("line %d..\n", i)) // 9 bytes: two fit
	}
	for name, want := range map[string]string{path: "line 8..\n", path + ".1": "line 6..\nline 7..\n", path + ".2": "line 4..\nline 5..\n"} {
		if got := content(t, name); got != want {
			t.Errorf("%s holds %q, want %q", filepath.Base(name), got, want)
		}
	}
	if _, err := os.Stat(path + ".3"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a third file is kept: %v", err)
	}
	write(t, f, strings.Repeat("x", 100)+"\n") // a line above the size is written all the same
	if got := content(t, path); len(got) != 101 {
		t.Errorf("%q", got)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if _, err := f.Write([]byte("late\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
}

func TestAFileIsContinuedOnAFreshLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spans.jsonl")
	if err := os.WriteFile(path, []byte("whole\n{\"cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, path, 0, 0), "next\n")
	write(t, open(t, path, 0, 0), "and next\n")
	if got, want := content(t, path), "whole\n{\"cut\nnext\nand next\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTwoWritersOfOneFile is two processes with the same name for their file, as far
// as files can tell: no line is lost or torn, rotation or not.
func TestTwoWritersOfOneFile(t *testing.T) {
	for _, size := range []int64{0, 1000} {
		path := filepath.Join(t.TempDir(), "spans.jsonl")
		var wg sync.WaitGroup
		for w := range 2 {
			f := open(t, path, size, 1000)
			for g := range 2 {
				wg.Go(func() {
					for i := range 50 {
						line := fmt.Sprintf("%d-%d-%d %s\n", w, g, i, strings.Repeat("x", i))
						if _, err := f.Write([]byte(line)); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, name := range files {
			for _, line := range bytes.SplitAfter([]byte(content(t, name)), []byte("\n")) {
				if len(line) == 0 {
					continue
				}
				var a, b, c int
				var x string
				if _, err := fmt.Sscanf(string(line), "%d-%d-%d %s\n", &a, &b, &c, &x); (err != nil && c > 0) || len(x) != c {
					t.Fatalf("a torn line: %q", line)
				}
				seen[string(line)] = true
			}
		}
		if size == 0 && (len(seen) != 200 || len(files) != 1) {
			t.Errorf("%d of 200 lines in %d files", len(seen), len(files))
		}
		if size > 0 && len(files) < 2 {
			t.Errorf("%d files", len(files))
		}
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "file", "x.jsonl"), dir} {
		if f, err := Open(path, 0, 0, 0); err == nil {
			t.Errorf("%s: no error", path)
			_ = f.Close()
		}
	}
}
