package processstart

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A real child says when it was created: between the moments before and after
// its start, as exactly as the kernel's clocks allow.
func TestProcessStartTimeOfARealProcess(t *testing.T) {
	const marker = "LENS_TEST_START_CHILD"
	if os.Getenv(marker) != "" {
		start, err := Time()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString(start.Format(time.RFC3339Nano) + "\n"); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcessStartTimeOfARealProcess$")
	cmd.Env = append(os.Environ(), marker+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	line := bufio.NewScanner(out)
	line.Scan()
	got, parseErr := time.Parse(time.RFC3339Nano, line.Text())
	if err := cmd.Wait(); err != nil || parseErr != nil {
		t.Fatal(err, parseErr)
	}
	// The rounding of both clocks, and a clock that may be adjusted meanwhile.
	const slack = 500 * time.Millisecond
	if got.Before(before.Add(-slack)) || got.After(after.Add(slack)) {
		t.Errorf("created %v, started between %v and %v", got, before, after)
	}
	own, err := Time()
	if err != nil || own.After(before.Add(slack)) {
		t.Errorf("this process was created %v, %v", own, err)
	}
}

func TestWithoutTheFiles(t *testing.T) {
	t.Parallel()
	if _, err := in(t.TempDir()); err == nil {
		t.Error("no error without the files")
	}
}
