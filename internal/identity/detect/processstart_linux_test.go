package detect

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
		start, err := ProcessStartTime()
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
	own, err := ProcessStartTime()
	if err != nil || own.After(before.Add(slack)) {
		t.Errorf("this process was created %v, %v", own, err)
	}
}

func TestProcessStartAttribute(t *testing.T) {
	t.Parallel()
	got, warnings := Detect(Options{Lookup: envMap{}.lookup, Root: t.TempDir(), ProcessStart: true, Run: noFork(t)})
	v, ok := value(got, "process.creation.time")
	if _, err := time.Parse(time.RFC3339Nano, v.AsString()); !ok || err != nil || len(warnings) > 0 {
		t.Errorf("%q, %v, warnings %q", v.AsString(), err, warnings)
	}
	if _, err := processStartIn(t.TempDir()); err == nil {
		t.Error("no error without the files")
	}
}
