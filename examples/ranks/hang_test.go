//go:build !lens_noop && (linux || darwin)

package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/examples/internal/programtest"
	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/flight/postmortem"
)

// The question of 3 a.m.: eight ranks hang, because one of them does. Only the last rank
// exports. The stall report names rank and step while it hangs, and the files do when
// all have been killed.
func TestWhoHangsAndWhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmds, errs := rankCommands(t, 8, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=none", "NEMO_LENS_METRICS_ENABLED=0",
		"NEMO_LENS_SPAN_GROUPS=per_step,communication", "NEMO_LENS_RUN_ID=run-1", "NEMO_LENS_FLIGHT_DIR=" + dir,
		"NEMO_LENS_STALL_AFTER=forward_backward=300ms"}, "-steps=100000", "-hang-rank=5", "-hang-step=20")
	said := &lockedBuffer{}
	for rank, cmd := range cmds {
		if cmd.Stderr = errs[rank]; rank == 5 {
			cmd.Stderr = said
		}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	// A slow machine can make an earlier step long enough to be reported, too.
	hang := regexp.MustCompile(`has been open for .* rank=5 .* dl\.iteration=20`)
	eventually(t, func() bool { return hang.Match(said.bytes()) })
	// The other ranks come to wait for it.
	eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "*"+flight.Suffix))
		require.NoError(t, err)
		waiting := 0
		for _, path := range files {
			f, err := flight.Read(path)
			require.NoError(t, err)
			if n := len(f.Open); n > 0 && f.Open[n-1].Name == spanAllReduce {
				waiting++
			}
		}
		return len(files) == 8 && waiting == 7
	})
	// All of them at once: a rank that sees another die would end in order.
	for _, cmd := range cmds {
		require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		var status syscall.WaitStatus
		_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil) // until no thread of it runs
		require.NoError(t, err)
		require.True(t, status.Stopped())
	}
	for _, cmd := range cmds {
		require.NoError(t, cmd.Process.Kill())
	}
	for _, cmd := range cmds {
		programtest.Wait(t, cmd)
	}

	report, err := postmortem.Load(t.Context(), dir, postmortem.Options{Now: time.Now().Add(time.Minute)})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, report.Text(&text, postmortem.TextOptions{}))
	assert.Contains(t, text.String(), "run run-1: 8 processes of 8 ranks")
	assert.Contains(t, text.String(), "first to differ: rank 5 did not finish ranks.forward_backward of step 20, which the other 7 of 8 did\n")
	assert.Regexp(t, `(?m)^rank 5: in ranks.forward_backward of step 20 for \S+$`, text.String())
	assert.Regexp(t, `(?m)^ranks 0-4,6-7: in ranks.all_reduce of step 20 for .+$`, text.String())
	t.Log(text.String())
}
