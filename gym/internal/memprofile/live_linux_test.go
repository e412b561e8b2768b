package memprofile

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	lib "github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChildProcessByBothWays(t *testing.T) {
	t.Parallel()
	cmd, said := start(t, "parent")
	child, err := strconv.Atoi(said)
	require.NoError(t, err)
	want := []int{cmd.Process.Pid, child}
	r := NewReader("")
	assert.Equal(t, want, r.PIDs(cmd.Process.Pid))
	got := r.Tree(cmd.Process.Pid)
	assert.Equal(t, 2, got.Processes)
	assert.True(t, got.HasPSS)
	assert.Contains(t, r.PIDs(os.Getpid()), child)
	assert.GreaterOrEqual(t, r.Tree(os.Getpid()).Processes, 3)
	r.noTree.Store(true)
	assert.Equal(t, want, r.PIDs(cmd.Process.Pid))
}

// rollup reads smaps_rollup in a way that has nothing in common with the package.
func rollup(t *testing.T, pid int) (rss, pss uint64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var n uint64
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &n); err == nil {
			rss = n * kib
		}
		if _, err := fmt.Sscanf(line, "Pss: %d kB", &n); err == nil {
			pss = n * kib
		}
	}
	return rss, pss
}

func TestProcessThatHoldsHundredMegabytes(t *testing.T) {
	t.Parallel()
	cmd, _ := start(t, "hold")
	pid := cmd.Process.Pid
	stop(t, pid)
	r := NewReader("")
	// The process stands still, but others that run the same binary share its pages, and their page faults move its
	// PSS. So only a reading between two equal ones counts.
	require.Eventually(t, func() bool {
		rss, pss := rollup(t, pid)
		got := r.Tree(pid)
		if rss2, pss2 := rollup(t, pid); rss2 != rss || pss2 != pss {
			return false
		}
		return assert.InDelta(t, rss, got.RSS, float64(page())) && assert.InDelta(t, pss, got.PSS, float64(page())) &&
			assert.Equal(t, 1, got.Processes) && assert.True(t, got.HasPSS)
	}, 30*time.Second, time.Millisecond)
	got := r.Tree(pid)
	for _, v := range []uint64{got.RSS, got.PSS} {
		assert.GreaterOrEqual(t, v, uint64(100<<20))
		assert.Less(t, v, uint64(164<<20))
	}

	// The library reads the same, where both can be compared.
	proc, err := lib.NewProc(pid)
	require.NoError(t, err)
	theirs, err := proc.ProcSMapsRollup()
	require.NoError(t, err)
	assert.InDelta(t, theirs.Rss, got.RSS, float64(page()))
	statm, err := proc.Statm()
	require.NoError(t, err)
	resident, ok := r.resident(pid)
	require.True(t, ok)
	assert.Equal(t, statm.Resident, resident)
	// statm counts in batches for each CPU, smaps_rollup page by page.
	assert.InDelta(t, got.RSS, resident*page(), 2<<20)
}

// stop makes a process stand still.
func stop(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		p, err := lib.NewProc(pid)
		if err != nil {
			return false
		}
		s, err := p.Stat()
		return err == nil && s.State == "T"
	}, 30*time.Second, time.Millisecond)
}

// A process whose main thread has ended looks like a zombie from outside.
func TestFieldE2TheMainThreadHasEnded(t *testing.T) {
	t.Parallel()
	cmd, _ := start(t, "headless")
	pid := cmd.Process.Pid
	r := NewReader("")
	got, ok := r.Process(pid)
	require.True(t, ok)
	require.GreaterOrEqual(t, got.RSS, uint64(64<<20))
	if got.HasPSS {
		require.GreaterOrEqual(t, got.PSS, uint64(64<<20))
	}
	tr := &tree{target: Target{PID: pid}}
	require.GreaterOrEqual(t, tr.readFull(&walker{reader: r}, true).RSS, uint64(64<<20))
	require.GreaterOrEqual(t, tr.readLight(r).RSS, uint64(64<<20))
}
