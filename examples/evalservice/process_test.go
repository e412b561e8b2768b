//go:build !lens_noop

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/examples/internal/children"
	"github.com/nemo-lens/lens/examples/internal/programtest"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// fleetNames are the processes of a run.
var fleetNames = []string{"supervisor", "policy_model", "countdown", "countdown_agent"}

// kept reads what a run has left in dir.
func kept(t *testing.T, dir string) []children.Span {
	t.Helper()
	var names []string
	var all children.Exported
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, file := range files {
		before := len(all.Spans)
		require.NoError(t, all.ReadFile(file))
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		names = append(names, name)
		for _, s := range all.Spans[before:] {
			require.Equal(t, name, processOf(s.Resource), "the process of a span of %s", file)
		}
	}
	assert.ElementsMatch(t, fleetNames, names)
	return all.Spans
}

// trees are the traces as text, without ids and times, siblings by their start.
func trees(t *testing.T, spans []children.Span) map[string]string {
	t.Helper()
	byParent := make(map[string][]children.Span)
	out := make(map[string]string)
	for _, s := range spans {
		out[s.Trace] = ""
		key := s.Trace + s.Parent
		byParent[key] = append(byParent[key], s)
	}
	var write func(trace, parent, indent string)
	write = func(trace, parent, indent string) {
		below := byParent[trace+parent]
		slices.SortFunc(below, func(a, b children.Span) int { return a.Start.Compare(b.Start) })
		for _, s := range below {
			out[trace] += indent + processOf(s.Resource) + ": " + s.Name + "\n"
			write(trace, s.ID, indent+"  ")
		}
	}
	for trace := range out {
		write(trace, "", "")
	}
	return out
}

const defaultTree = `supervisor: HTTP POST
  countdown_agent: POST /run
    countdown_agent: gym.rollout
      countdown_agent: HTTP POST
        countdown_agent: POST /v1/responses
          countdown_agent: HTTP POST
            policy_model: POST /v1/responses
      countdown_agent: HTTP POST
        countdown: POST /verify
`

const wholeTree = `supervisor: HTTP POST
  countdown_agent: POST /run
    countdown_agent: gym.rollout
      countdown_agent: HTTP POST
        countdown_agent: POST /v1/responses
          countdown_agent: gym.agent.responses
            countdown_agent: HTTP POST
              policy_model: POST /v1/responses
                policy_model: gym.model.responses
      countdown_agent: HTTP POST
        countdown: POST /verify
          countdown: gym.verify
`

// checkRollouts sees to it that there is one trace for each of n rollouts, with
// this tree, that every id is on one trace only, and returns the other trees.
func checkRollouts(t *testing.T, spans []children.Span, n int, tree string) (others []string) {
	t.Helper()
	rollouts := 0
	for _, got := range trees(t, spans) {
		if !strings.Contains(got, "POST") {
			others = append(others, got)
			continue
		}
		rollouts++
		if got != tree { // assert.Equal on thousands of equal texts is slow
			assert.Equal(t, tree, got)
		}
	}
	assert.Equal(t, n, rollouts)
	traceOf, idOf := make(map[string]string), make(map[string]string)
	for _, s := range spans {
		id, trace := s.Attributes.Text("nemo.gym.rollout.id"), s.Trace
		if id == "" {
			continue
		}
		if traceOf[id] == "" && idOf[trace] == "" {
			traceOf[id], idOf[trace] = trace, id
		}
		if traceOf[id] != trace || idOf[trace] != id {
			assert.Fail(t, "a rollout has two traces, or a trace two rollouts", "%s in %s", id, trace)
		}
	}
	assert.Len(t, traceOf, n)
	return others
}

// accounts reads the table of spans.
func accounts(t *testing.T, stdout string) map[string][]int {
	t.Helper()
	all := make(map[string][]int)
	for _, m := range regexp.MustCompile(`(?m)^ *(\w+)((?: +\d+){6}) *$`).FindAllStringSubmatch(stdout, -1) {
		for field := range strings.FieldsSeq(m[2]) {
			n, err := strconv.Atoi(field)
			require.NoError(t, err)
			all[m[1]] = append(all[m[1]], n)
		}
	}
	return all
}

// nothingLost checks the table of spans against the files.
func nothingLost(t *testing.T, stdout string, spans []children.Span) {
	t.Helper()
	written := make(map[string]int)
	for _, s := range spans {
		written[processOf(s.Resource)]++
	}
	got := accounts(t, stdout)
	assert.Len(t, got, len(fleetNames))
	for _, name := range fleetNames {
		n := written[name]
		assert.NotZero(t, n, name)
		assert.Equal(t, []int{n, n, n, 0, 0, 0}, got[name], "started, ended, exported, dropped, failed, open of %s", name)
	}
}

func TestTheDefaultGroupsAreEnough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, stdout, stderr := program(t, nil, "-rollouts=75", "-concurrency=4", "-groups=default", "-keep="+dir)
	require.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stderr)
	spans := kept(t, dir)
	others := checkRollouts(t, spans, 75, defaultTree)
	require.Len(t, others, 2, "the job and the start-up")
	slices.Sort(others)
	assert.Equal(t, "supervisor: gym.job\n", others[0])
	for _, name := range fleetNames[1:] {
		part := "  supervisor: gym.startup.server\n    " + name + ": gym.server.startup\n"
		for _, stage := range []string{"interpreter_start", "load_config", "init_telemetry", "setup_webserver", "listen"} {
			part += "      " + name + ": gym.server.startup." + stage + "\n"
		}
		assert.Contains(t, others[1], part)
	}
	for _, stage := range []string{"load_config", "init_telemetry", "spawn_servers", "wait_for_servers"} {
		assert.Contains(t, others[1], "  supervisor: gym.startup."+stage+"\n")
	}
	nothingLost(t, stdout, spans)
	assert.Contains(t, stdout, "traces: 75 of 75 rollouts are one complete trace of 9 spans in 4 processes\n")
	assert.Contains(t, stdout, accuracyOf(scored(t, 75), 75))
	assert.NotContains(t, stdout, "gym.verify", "the group is off")

	runs := make(map[string]bool)
	for _, s := range spans {
		runs[s.Resource.Text("nemo.run.id")] = true
		for key := range s.Attributes {
			text := s.Attributes.Text(key)
			assert.NotContains(t, text, "from the numbers", "no prompt is recorded")
			assert.NotContains(t, text, answerMark)
		}
	}
	assert.Len(t, runs, 1)
}

// What is printed without any flag.
func TestReport(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, nil)
	require.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stderr)
	assert.Len(t, servers.FindAllString(stdout, -1), 3)
	assert.Regexp(t, `(?m)^the slowest rollout, \d+-\d, trace [0-9a-f]{32}:$`, stdout)
	_, tree, _ := strings.Cut(stdout, "the slowest rollout")
	_, tree, _ = strings.Cut(tree, "\n\n")
	tree, _, _ = strings.Cut(tree, "\n\n")
	row := regexp.MustCompile(`^ [ │├└─]*(\S.*?) +[\d.]+(?:µs|ms|s)  (\w+)$`)
	var got []string
	for one := range strings.SplitSeq(tree, "\n") {
		m := row.FindStringSubmatch(one)
		require.NotNil(t, m, "%q", one)
		got = append(got, m[2]+": "+m[1])
	}
	var want []string
	for one := range strings.Lines(wholeTree) {
		want = append(want, strings.TrimSpace(one))
	}
	assert.Equal(t, want, got)
	assert.Contains(t, stdout, "traces: 120 of 120 rollouts are one complete trace of 12 spans in 4 processes\n")
	assert.Contains(t, stdout, accuracyOf(80, 120), "as the README says")
	for _, one := range []string{
		`gym\.rollout\.duration_ms +ms +120 x [\d.]+`,
		`gym\.verify\.duration_ms +ms +120 x [\d.]+`,
		`gym\.verify\.success_rate +1`,
		`gym\.servers\.active +0 \(3\)`,
		`gym\.server\.startup_duration_ms +countdown_agent +ms +1 x [\d.]+`,
		`http\.server\.request\.duration +POST 200 /verify +ms +120 x [\d.]+`,
		`gym\.http\.connection_pool\.connect_total +policy_model +120`,
		`gym\.resources\.operation\.duration_ms +inline verify ok +ms +120 x [\d.]+`,
		`gym\.rollout\.completed_total +countdown_agent scored +120`,
		`gym\.model_call\.tokens +responses input +120 x [\d.]+`,
		`gym\.model_call\.duration_ms +responses ok +ms +120 x [\d.]+`,
		`gym\.process\.cpu\.percent +% `,
		`gym\.concurrency\.queue_wait_duration_ms +rollout_driver +ms +120 x [\d.]+`,
		`go\.goroutine\.count +\d+ .*\d`,
		`gym\.event_loop\.lag_ms +ms +\d+ x [\d.]+`,
	} {
		assert.Regexp(t, `(?m)^`+one, stdout)
	}
	if runtime.GOOS == "linux" {
		assert.Regexp(t, `(?m)^gym\.server\.memory\.usage +pss policy_model +MiB +[\d.]+`, stdout)
		assert.Regexp(t, `(?m)^gym\.host\.memory\.total +MiB +\d+`, stdout)
	}
}

// withoutRaceDetector builds the program as its users have it, because the race
// detector makes thousands of rollouts through four processes slow.
func withoutRaceDetector(t *testing.T) (path string) {
	t.Helper()
	if !raceDetector {
		return self(t)
	}
	path = filepath.Join(t.TempDir(), "evalservice.exe")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// Five hundred rollouts, 64 at once: each is one complete trace, nothing is
// lost, and the books balance.
func TestManyRollouts(t *testing.T) {
	t.Parallel()
	n := 500
	if testing.Short() {
		n = 200
		t.Log("-short: 200 rollouts in place of 500")
	}
	dir := t.TempDir()
	code, stdout, stderr := programAt(t, withoutRaceDetector(t), nil, "-rollouts="+strconv.Itoa(n), "-concurrency=64", "-keep="+dir)
	require.Equal(t, exitOK, code, stderr)
	assert.Empty(t, stderr)
	spans := kept(t, dir)
	others := checkRollouts(t, spans, n, wholeTree)
	assert.Len(t, others, 2)
	nothingLost(t, stdout, spans)
	assert.Len(t, spans, 12*n+1+(1+4+3+3*6), "of the rollouts, the job and the start-up")
	assert.Contains(t, stdout, accuracyOf(scored(t, n), n))
	assert.Contains(t, stdout, "traces: "+strconv.Itoa(n)+" of "+strconv.Itoa(n)+" rollouts are one complete trace")
	assert.Regexp(t, `(?m)^gym\.http\.connection_pool\.queue_duration_ms +per_host ok countdown_agent +ms +\d+ x`, stdout, "64 rollouts share 32 connections")
}

func TestOff(t *testing.T) {
	t.Parallel()
	for _, off := range []string{"NEMO_GYM_OTEL_ENABLED=0", "OTEL_SDK_DISABLED=true"} {
		dir := t.TempDir()
		code, stdout, stderr := program(t, []string{off}, "-keep="+dir, "-rollouts=60")
		require.Equal(t, exitOK, code, stderr)
		assert.Empty(t, stderr)
		assert.Contains(t, stdout, "no traces: telemetry is off\n")
		assert.Contains(t, stdout, accuracyOf(scored(t, 60), 60))
		assert.NotContains(t, stdout, "metric")
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// What the user has set of the detail stays.
func TestVariablesOfTheUserStay(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, []string{"NEMO_LENS_SPAN_GROUPS=rollout,server"}, "-rollouts=2")
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stderr, "span_groups", "run.json asks for something else")
	assert.Contains(t, stdout, "no trace of a rollout across the processes")

	code, stdout, stderr = program(t, []string{"NEMO_LENS_METRICS_ENABLED=0"}, "-rollouts=2")
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "traces: 2 of 2")
	assert.Contains(t, stdout, "this process exports no metrics")
	assert.Contains(t, stdout, "no metrics")

	code, stdout, stderr = program(t, []string{"NEMO_GYM_OTEL_TRACES_ENABLED=maybe"}, "-rollouts=2")
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stderr, "NEMO_GYM_OTEL_TRACES_ENABLED")
	assert.Contains(t, stdout, "no traces: telemetry is off")
}

// With a receiver no file is written, and everything arrives there.
func TestToACollector(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	dir := t.TempDir()
	code, stdout, stderr := program(t, []string{"NEMO_LENS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=" + srv.GRPCURL(), "NEMO_LENS_RUN_ID=run-1"},
		"-rollouts=3", "-groups=per_rollout", "-keep="+dir)
	require.Equal(t, exitOK, code, stderr)
	assert.Contains(t, stdout, "run run-1: spans and metrics went to grpc://")
	assert.NoFileExists(t, filepath.Join(dir, "supervisor.jsonl"))
	spans := srv.Spans()
	require.Len(t, spans, 3*12)
	byTrace := make(map[string][]otlptest.Span)
	for _, s := range spans {
		byTrace[s.TraceID.String()] = append(byTrace[s.TraceID.String()], s)
		assert.Equal(t, "run-1", s.Resource["nemo.run.id"])
	}
	assert.Len(t, byTrace, 3)
	for _, trace := range byTrace {
		assert.Len(t, trace, 12)
	}
	assert.NotEmpty(t, srv.Metrics())
}

// start starts the program and waits until its servers are ready.
func start(t *testing.T, tmp string, args ...string) (cmd *exec.Cmd, stdout func() string, stderr *bytes.Buffer) {
	t.Helper()
	cmd = command(t, self(t), tmp, nil, args...)
	out, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = out.Close() })
	stderr = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, stderr
	require.NoError(t, cmd.Start())
	stdout = func() string {
		text, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		return string(text)
	}
	eventually(t, func() bool { return len(servers.FindAllString(stdout(), -1)) == 3 })
	return cmd, stdout, stderr
}

// eventually waits for a condition that other processes bring about.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, programtest.Within, 5*time.Millisecond)
}

const endless = "-rollouts=1000000"

// An interrupt ends the servers and leaves no file.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted there")
	}
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		tmp := t.TempDir()
		cmd, stdout, stderr := start(t, tmp, endless)
		require.NoError(t, cmd.Process.Signal(sig))
		assert.Equal(t, exitFailed, programtest.Wait(t, cmd))
		assert.Contains(t, stderr.String(), "the run ended early: interrupted")
		nothingLeft(t, tmp, stdout())
	}
}

// A supervisor that is killed cannot stop its servers; they notice.
func TestNoOrphans(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("whether a process runs is not known there")
	}
	t.Parallel()
	cmd, stdout, _ := start(t, t.TempDir(), endless)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, m := range servers.FindAllStringSubmatch(stdout(), -1) {
		eventually(t, func() bool { return !alive(t, m[2]) })
	}
}

// A server that dies ends the run with an error that names it.
func TestADeadServerIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be killed by its id there")
	}
	t.Parallel()
	tmp := t.TempDir()
	cmd, stdout, stderr := start(t, tmp, endless)
	for _, m := range servers.FindAllStringSubmatch(stdout(), -1) {
		if m[1] == "countdown" {
			pid, err := strconv.Atoi(m[2])
			require.NoError(t, err)
			victim, err := os.FindProcess(pid)
			require.NoError(t, err)
			require.NoError(t, victim.Kill())
		}
	}
	assert.Equal(t, exitFailed, programtest.Wait(t, cmd))
	assert.Contains(t, stderr.String(), "countdown ended by itself")
	nothingLeft(t, tmp, stdout())
}
