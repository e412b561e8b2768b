//go:build !lens_noop

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/examples/internal/programtest"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// rankCommands are the ranks of one job without the launcher, as torchrun would
// start them.
func rankCommands(t *testing.T, n int, env []string, args ...string) ([]*exec.Cmd, []*bytes.Buffer) {
	t.Helper()
	rendezvous := filepath.Join(t.TempDir(), "rendezvous")
	var cmds []*exec.Cmd
	var errs []*bytes.Buffer
	for rank := range n {
		place := []string{"RANK=" + strconv.Itoa(rank), "WORLD_SIZE=" + strconv.Itoa(n), "LOCAL_RANK=" + strconv.Itoa(rank)}
		cmd := programtest.Command(t, append(place, env...), append([]string{asRank, "-rendezvous=" + rendezvous}, args...)...)
		errs = append(errs, &bytes.Buffer{})
		cmd.Stderr = errs[rank]
		cmds = append(cmds, cmd)
	}
	return cmds, errs
}

// row is a line of the table of the strategies.
func row(t *testing.T, stdout, strategy string) (ranks string, spans, traces int) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + strategy + `  +((?:\d+ ?)+|none) +(\d+) +(\d+)$`).FindStringSubmatch(stdout)
	require.NotNil(t, m, "no row for %s in\n%s", strategy, stdout)
	_, err := fmt.Sscan(m[2]+" "+m[3], &spans, &traces)
	require.NoError(t, err)
	return strings.TrimSpace(m[1]), spans, traces
}

func accuracy(t *testing.T, stdout string) string {
	t.Helper()
	m := regexp.MustCompile(`accuracy [\d.]+ \(\d+ of 45 held-out samples\)`).FindString(stdout)
	require.NotEmpty(t, m, stdout)
	return m
}

// Per rank and step: step, forward_backward, all_reduce, optimizer. Per rank:
// rank, evaluate. Per job: job.
func spansOf(ranks, steps int) int { return ranks*(4*steps+2) + 1 }

func TestEveryStrategyExportsItsRanks(t *testing.T) {
	t.Parallel()
	const steps = 12
	code, stdout, stderr := program(t, nil, "-n=8", fmt.Sprint("-steps=", steps))
	require.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stderr)
	for strategy, want := range map[string]string{
		"single_rank":         "7", // the last one
		"all_ranks":           "0 1 2 3 4 5 6 7",
		"sampled":             "3 4 5 6", // of the reference's hash, at 0.5
		"first_rank_per_node": "0 4",
	} {
		ranks, spans, traces := row(t, stdout, strategy)
		assert.Equal(t, want, ranks, strategy)
		assert.Equal(t, spansOf(len(strings.Fields(want)), steps), spans, strategy)
		assert.Equal(t, 1, traces, strategy)
	}
	assert.Contains(t, stdout, "under all_ranks:")
	assert.Contains(t, stdout, "ranks.rank inside it on ranks 0 1 2 3 4 5 6 7")
	assert.Regexp(t, `slowest most often: rank \d, in \d+ of 12 steps`, stdout)
}

func TestSettingsOfTheUserStay(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, []string{"NEMO_LENS_EXPORT_SAMPLE_RATE=0.4", "NEMO_LENS_SPAN_GROUPS=default", "NEMO_LENS_ENABLED= "},
		"-n=5", "-steps=3", "-strategy=sampled")
	require.Equal(t, exitOK, code, stderr)
	ranks, spans, _ := row(t, stdout, "sampled")
	assert.Equal(t, "3 4", ranks)
	assert.Equal(t, 2*2+1, spans)
	assert.Contains(t, stdout, "no slowest rank: it takes ranks.forward_backward spans")
	assert.NotContains(t, stdout, "all_ranks")

	code, stdout, stderr = program(t, []string{"NEMO_LENS_EXPORT_RANK=1"}, "-n=3", "-steps=3", "-strategy=single_rank")
	require.Equal(t, exitOK, code, stderr)
	ranks, _, _ = row(t, stdout, "single_rank")
	assert.Equal(t, "1", ranks)
	assert.Contains(t, stdout, "no slowest rank")

	code, stdout, stderr = program(t, []string{"NEMO_LENS_ENABLED=0"}, "-n=3", "-steps=3")
	require.Equal(t, exitOK, code, stderr)
	ranks, spans, _ = row(t, stdout, "all_ranks")
	assert.Equal(t, "none", ranks)
	assert.Zero(t, spans)
	assert.Contains(t, stdout, "no spans")

	code, _, stderr = program(t, []string{"NEMO_LENS_SPAN_GROUPS=per_stpe"}, "-n=2", "-steps=3", "-strategy=all_ranks")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "rank 1: ranks: ")
	assert.Contains(t, stderr, "per_step")
}

func TestProcessesTrainWhatOneTrains(t *testing.T) {
	t.Parallel()
	var said []string
	for _, n := range []string{"-n=1", "-n=6"} {
		code, stdout, stderr := program(t, nil, n, "-strategy=single_rank")
		require.Equal(t, exitOK, code, stderr)
		said = append(said, accuracy(t, stdout))
	}
	assert.Equal(t, said[0], said[1])
	assert.Contains(t, said[0], "(43 of 45")
}

// The rank that has a thousand times the work is found from the spans alone.
// Most steps are asked for, not all: a noisy machine may hold another rank back.
func TestTheSlowRankIsFound(t *testing.T) {
	t.Parallel()
	const steps = 15
	code, stdout, stderr := program(t, nil, "-n=6", fmt.Sprint("-steps=", steps), "-strategy=all_ranks", "-slow-rank=2")
	require.Equal(t, exitOK, code, stderr)
	m := regexp.MustCompile(`slowest most often: rank 2, in (\d+) of 15 steps`).FindStringSubmatch(stdout)
	require.NotNil(t, m, stdout)
}

// The structure of one job: who is inside whom, across processes.
func TestOneTraceAcrossRanks(t *testing.T) {
	for name, value := range programtest.Variables {
		t.Setenv(name, value)
	}
	for _, name := range []string{"NEMO_LENS_ENABLED", "NEMO_LENS_SPAN_GROUPS", "NEMO_LENS_EXPORT_SAMPLE_RATE"} {
		t.Setenv(name, "")
	}
	for strategy, root := range map[string]int{"all_ranks": 0, "sampled": 3} {
		o := launchOptions{settings: defaults, ranks: 6, perNode: 4}
		o.steps = 3
		var stderr bytes.Buffer
		j, err := launch(t.Context(), o, strategy, filepath.Join(t.TempDir(), "job"), &stderr)
		require.NoError(t, err, stderr.String())
		assert.Empty(t, stderr.String())

		byID := map[string]span{}
		for _, s := range j.spans {
			byID[s.ID] = s
		}
		require.Len(t, j.traces(), 1)
		inside := map[string]string{spanRank: spanJob, spanStep: spanRank, spanEvaluate: spanRank,
			spanForwardBackward: spanStep, spanAllReduce: spanStep, spanOptimizer: spanStep}
		jobs := 0
		for _, s := range j.spans {
			if s.Name == spanJob {
				jobs++
				assert.Empty(t, s.Parent)
				assert.Equal(t, root, s.rank, "the first rank that exports")
				continue
			}
			parent, known := byID[s.Parent]
			require.True(t, known, "%s of rank %d has no parent", s.Name, s.rank)
			assert.Equal(t, inside[s.Name], parent.Name, s.Name)
			if s.Name != spanRank {
				assert.Equal(t, parent.rank, s.rank, s.Name)
				// The system may set its clock between the two starts.
				const step = 100 * time.Millisecond
				assert.False(t, s.Start.Before(parent.Start.Add(-step)) || s.End.After(parent.End.Add(step)), s.Name)
			}
			if parent.Name == spanStep {
				assert.Equal(t, parent.step, s.step)
			}
		}
		assert.Equal(t, 1, jobs)
	}
}

// Ranks that somebody else starts send to a collector like any other program.
func TestRanksSendToACollector(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	cmds, errs := rankCommands(t, 3, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORT_STRATEGY=all_ranks", "NEMO_LENS_METRICS_ENABLED=0",
		"NEMO_LENS_RUN_ID=run-1", "OTEL_EXPORTER_OTLP_ENDPOINT=" + srv.GRPCURL()}, "-steps=2")
	for _, cmd := range cmds {
		require.NoError(t, cmd.Start())
	}
	for rank, cmd := range cmds {
		assert.Equal(t, exitOK, programtest.Wait(t, cmd), errs[rank])
	}
	// The default groups: no steps. Everything was delivered before the ranks ended.
	spans := srv.Spans()
	require.Len(t, spans, 1+3*2)
	ranks := map[any]bool{}
	for _, s := range spans {
		assert.Equal(t, spans[0].TraceID, s.TraceID)
		assert.Equal(t, "run-1", s.Resource["nemo.run.id"])
		assert.EqualValues(t, 3, s.Resource["dl.world_size"])
		ranks[s.Resource["dl.rank"]] = true
	}
	assert.Len(t, ranks, 3)
	branch := "├─ ranks.rank\n│  └─ ranks.evaluate\n"
	assert.Equal(t, "ranks.job\n"+branch+branch+"└─ ranks.rank\n   └─ ranks.evaluate\n", otlptest.Tree(spans))
}

// eventually waits for a condition that other processes bring about.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, programtest.Within, 5*time.Millisecond)
}

func notEmpty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// A rank that dies takes the others with it; they say which one it was, and
// their spans up to then are safe.
func TestADeadRankIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmds, errs := rankCommands(t, 3, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORT_STRATEGY=all_ranks", "NEMO_LENS_METRICS_ENABLED=0",
		"NEMO_LENS_SPAN_GROUPS=per_step", "NEMO_LENS_EXPORTER=console", "OTEL_BSP_SCHEDULE_DELAY=20"}, "-steps=100000000")
	for rank, cmd := range cmds {
		cmd.Env = append(cmd.Env, "NEMO_LENS_EXPORTER_FILE="+spanFile(dir, rank))
		require.NoError(t, cmd.Start())
	}
	eventually(t, func() bool { return notEmpty(spanFile(dir, 2)) }) // it trains
	require.NoError(t, cmds[2].Process.Kill())
	programtest.Wait(t, cmds[2])
	for _, rank := range []int{0, 1} {
		assert.Equal(t, exitFailed, programtest.Wait(t, cmds[rank]))
		assert.Contains(t, errs[rank].String(), "rank 2: the connection")
		spans, err := readSpans(spanFile(dir, rank))
		require.NoError(t, err)
		last := spans[len(spans)-1]
		for _, s := range spans {
			if s.End.After(last.End) {
				last = s
			}
		}
		if rank == 0 {
			assert.Equal(t, spanJob, last.Name, "the spans that the failure ended are there, too")
		} else {
			assert.Equal(t, spanRank, last.Name)
		}
	}
}

// An interrupt ends all processes, and the folder of the spans is gone.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted there")
	}
	t.Parallel()
	tmp := t.TempDir()
	cmd := programtest.Command(t, []string{"TMPDIR=" + tmp, "OTEL_BSP_SCHEDULE_DELAY=20"}, "-n=3", "-steps=100000000", "-strategy=all_ranks")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	eventually(t, func() bool {
		started, err := filepath.Glob(filepath.Join(tmp, "lens-ranks-*", "all_ranks", "rank-2.jsonl"))
		return err == nil && len(started) == 1 && notEmpty(started[0])
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	assert.Equal(t, exitFailed, programtest.Wait(t, cmd))
	assert.Contains(t, stderr.String(), "interrupt signal received")
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, left)
}
