//go:build unix

package detect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
)

// script puts an executable nvidia-smi first in the search path.
func script(t *testing.T, body string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	syscall.ForkLock.RLock() // a process started meanwhile would have it open: "text file busy"
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

func TestRealRunOfNvidiaSMI(t *testing.T) {
	script(t, `case "$*" in *uuid*noheader,nounits*) echo "0, GPU X, GPU-aa, 1, 00000000:07:00.0, 9.0, 10, 1.2";; *) exit 3;; esac`)
	got, warnings := Detect(Options{Lookup: envMap{}.lookup, Root: t.TempDir(), NvidiaSMI: true, GPUIdentity: true})
	if v, _ := value(got, "nv.gpu.uuid"); v.AsString() != "GPU-aa" || len(warnings) > 0 {
		t.Errorf("got %v, warnings %q", got, warnings)
	}
}

func TestFieldC10ExitStatus14IsAWarning(t *testing.T) {
	script(t, `echo "0, GPU X, GPU-aa, 1, 00000000:07:00.0, 9.0, 10, 1.2"; echo "WARNING: infoROM is corrupted at gpu 0000:07:00.0"; exit 14`)
	got, warnings := Detect(Options{Lookup: envMap{}.lookup, Root: t.TempDir(), NvidiaSMI: true, GPUIdentity: true})
	if v, _ := value(got, "nv.gpu.uuid"); v.AsString() != "GPU-aa" {
		t.Errorf("got %v", got)
	}
	if v, _ := value(got, "host.gpu.count"); v.AsInt64() != 1 {
		t.Errorf("%d devices", v.AsInt64())
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "exit status 14") {
		t.Errorf("warnings %q", warnings)
	}
}

// A hanging nvidia-smi is killed on time-out, and so is what it has started.
func TestHangingNvidiaSMIIsKilled(t *testing.T) {
	dir := script(t, `sleep 600 & echo $! >"$0.child"; echo $$ >"$0.pid"; wait`)
	// The deadline ends the run only after the script has said who it is.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for range time.Tick(time.Millisecond) {
			if pid(dir, "pid") > 0 {
				cancel()
			}
			if ctx.Err() != nil {
				return
			}
		}
	}()
	_, err := nvidia.Run(ctx, "nvidia-smi")
	if err == nil || ctx.Err() == nil {
		t.Fatalf("the run ended with %v before it was stopped", err)
	}
	for _, name := range []string{"pid", "child"} {
		id := pid(dir, name)
		require.Eventually(t, func() bool { return !alive(id) }, 30*time.Second, time.Millisecond, "process %d (%s) lives on", id, name)
	}
}

func pid(dir, name string) int {
	data, _ := os.ReadFile(filepath.Join(dir, "nvidia-smi."+name)) // absent until written
	n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return n
}

// alive reports whether a process runs; one that is dead and not yet collected
// does not.
func alive(id int) bool {
	if errors.Is(syscall.Kill(id, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTimeoutIsAWarning(t *testing.T) {
	script(t, "exec sleep 600")
	got, warnings := Detect(Options{Lookup: envMap{}.lookup, Root: t.TempDir(), NvidiaSMI: true, NvidiaSMITimeout: 20 * time.Millisecond})
	if _, ok := value(got, "host.gpu.count"); ok || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "20ms") {
		t.Errorf("got %v, warnings %q", got, warnings)
	}
}

func TestEndlessOutputIsCut(t *testing.T) {
	script(t, "while :; do echo 0123456789012345678901234567890123456789; done")
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	out, err := nvidia.Run(ctx, "nvidia-smi")
	if err == nil || ctx.Err() != nil || len(out) > nvidia.MaxOutput {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, warnings := Detect(Options{Lookup: envMap{}.lookup, Root: t.TempDir(), NvidiaSMI: true})
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "nvidia-smi") {
		t.Errorf("warnings %q", warnings)
	}
}
