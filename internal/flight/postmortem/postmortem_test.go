//go:build unix && !aix && !solaris && !illumos

package postmortem

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
)

// rank is a process as its recorder sees it. Its spans started a while ago.
type rank struct {
	t     testing.TB
	rec   *flight.Recorder
	begun time.Time
	trace trace.TraceID
	shard byte // of all spans; 0 for any
}

func newRank(t testing.TB, dir string, number, of int, change ...func(*flight.Options)) *rank {
	t.Helper()
	o := flight.Options{Dir: dir, RunID: "run-1", Host: "node-" + strconv.Itoa(number/8), Service: "trainer", Rank: number, WorldSize: of, Slots: 64}
	for _, c := range change {
		c(&o)
	}
	rec, err := flight.Open(o)
	require.NoError(t, err)
	r := &rank{t: t, rec: rec, begun: time.Now().Add(-10 * time.Minute)}
	for i := range r.trace {
		r.trace[i] = byte(rand.Uint32() | 1)
	}
	return r
}

type spanOf struct {
	slot int32
	id   trace.SpanID
}

func (r *rank) begin(name string, in spanOf, after time.Duration, attrs ...attribute.KeyValue) spanOf {
	s := &flight.Start{Name: name, Group: "step", TraceID: r.trace, ParentID: in.id, Start: r.begun.Add(after).UnixNano(), Attributes: attrs}
	for i := range s.SpanID {
		s.SpanID[i] = byte(rand.Uint32() | 1)
	}
	if r.shard > 0 {
		s.SpanID[7] = r.shard
	}
	return spanOf{r.rec.Begin(s), s.SpanID}
}

func (r *rank) end(s spanOf, after time.Duration) {
	r.rec.End(s.slot, r.begun.Add(after).UnixNano(), codes.Unset)
}

// train does whole steps, and then a part of one: until says in which span of it the
// rank stays.
func (r *rank) train(steps int, until string) {
	job := r.begin("train.job", spanOf{}, 0)
	for i := 1; i <= steps+1; i++ {
		at := time.Duration(i) * time.Second
		step := r.begin("train.step", job, at, attribute.Int("dl.iteration", i))
		for _, name := range []string{"train.forward", "train.allreduce", "train.optimizer"} {
			s := r.begin(name, step, at)
			if i > steps && name == until {
				return
			}
			at += time.Millisecond
			r.end(s, at)
		}
		r.end(step, at+5*time.Millisecond)
	}
}

// dead makes a report as of a time at which nobody lives any more.
func dead(t testing.TB, dir string, o Options) *Report {
	t.Helper()
	o.Now = time.Now().Add(time.Hour)
	r, err := Load(t.Context(), dir, o)
	require.NoError(t, err)
	return r
}

func text(t testing.TB, r *Report, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.Text(&b, o))
	return b.String()
}

// Spans of the step before the last are overwritten, and none of the last.
func TestWhoseLastStepIsWhole(t *testing.T) {
	dir := t.TempDir()
	for i := range 8 {
		until := "train.allreduce"
		if i == 5 {
			until = "train.forward"
		}
		r := newRank(t, dir, i, 8)
		if i == 5 {
			r.shard = 3
		}
		r.train(19, until)
	}
	r := dead(t, dir, Options{})
	require.NotNil(t, r.Diverged)
	assert.Equal(t, "train.forward", r.Diverged.Span)
	require.Len(t, r.Diverged.Behind, 1)
	assert.Equal(t, 5, r.Diverged.Behind[0].Rank)
}

func TestWhoHangsIsSaidFirst(t *testing.T) {
	dir := t.TempDir()
	for i := range 512 {
		until := "train.allreduce"
		if i == 5 {
			until = "train.forward"
		}
		newRank(t, dir, i, 512).train(19, until)
	}
	r := dead(t, dir, Options{})
	require.NotNil(t, r.Diverged)
	assert.Equal(t, "train.forward", r.Diverged.Span)
	assert.EqualValues(t, 20, r.Diverged.Step)
	require.Len(t, r.Diverged.Behind, 1)
	assert.Equal(t, 5, r.Diverged.Behind[0].Rank)
	said := text(t, r, TextOptions{})
	assert.Contains(t, said, "run run-1: 512 processes of 512 ranks, last sign of life ")
	assert.Contains(t, said, "first to differ: rank 5 did not finish train.forward of step 20, which the other 511 of 512 did\n")
	assert.Regexp(t, `(?m)^rank 5: in train.forward of step 20 for 9m4\ds$`, said)
	assert.Regexp(t, `(?m)^ranks 0-4,6-511: in train.allreduce of step 20 for 9m4\ds`, said)
	assert.Regexp(t, `(?m)^ +10m\ds  train.job  \[step\]$`, said)
	assert.Regexp(t, `(?m)^ +9m4\ds    train.step  \[step\] dl.iteration=20$`, said)
	assert.Regexp(t, `(?m)^ +9m4\ds      train.forward  \[step\]$`, said)
	assert.Contains(t, said, "    train.step of step 19, 9m")
	assert.LessOrEqual(t, strings.Count(said, "\n"), 40, "one screen")
	assert.Less(t, strings.Index(said, "rank 5: in"), strings.Index(said, "ranks 0-4,6-511: in"))

	var b bytes.Buffer
	require.NoError(t, r.JSON(&b))
	var j jsonReport
	require.NoError(t, json.Unmarshal(b.Bytes(), &j))
	assert.Equal(t, &jsonDiverged{Step: 20, Span: "train.forward", Finished: "0-4,6-511", Unfinished: "5"}, j.Diverged)
	require.Len(t, j.Groups, 2)
	assert.Equal(t, "5", j.Groups[0].Ranks)
	assert.Equal(t, "train.allreduce", j.Groups[1].In.Span)
	assert.EqualValues(t, 20, *j.Groups[1].In.Step)
	assert.Len(t, j.Processes, 512)
}

func TestAStepThatOneRankDidNotBegin(t *testing.T) {
	dir := t.TempDir()
	all := func(o *flight.Options) { o.Slots = 512 } // room for every span
	newRank(t, dir, 0, 3, all).train(30, "train.forward")
	newRank(t, dir, 1, 3, all).train(30, "train.forward")
	newRank(t, dir, 2, 3, all).train(28, "train.forward")
	r := dead(t, dir, Options{})
	require.NotNil(t, r.Diverged)
	assert.EqualValues(t, 29, r.Diverged.Step)
	said := text(t, r, TextOptions{})
	assert.Contains(t, said, "first to differ: rank 2 did not finish train.forward of step 29, which the other 2 of 3 did")
	assert.Regexp(t, `(?m)^ranks 0-1: in train.forward of step 31 for `, said)
}

func TestNobodyDiffers(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		newRank(t, dir, i, 4).train(3, "train.allreduce")
	}
	r := dead(t, dir, Options{})
	assert.Nil(t, r.Diverged)
	said := text(t, r, TextOptions{})
	assert.NotContains(t, said, "differ")
	assert.Contains(t, said, "ranks 0-3: in train.allreduce of step 4 for 9m5")
}

func TestHowAProcessEnded(t *testing.T) {
	dir := t.TempDir()
	closed := newRank(t, dir, 0, 3)
	closed.end(closed.begin("train.job", spanOf{}, 0), time.Minute)
	closed.rec.Close()
	newRank(t, dir, 1, 3)
	said := text(t, dead(t, dir, Options{}), TextOptions{})
	assert.Contains(t, said, "rank 0: in no span; finished train.job 9m0s before (ended in order)\n")
	assert.Contains(t, said, "rank 1: in no span, and none has finished\n")
	assert.Contains(t, said, "no file of rank 2\n")

	r, err := Load(t.Context(), dir, Options{})
	require.NoError(t, err)
	assert.Contains(t, text(t, r, TextOptions{}), "rank 1: in no span, and none has finished (still running)\n")
}

func TestRestartsAndOtherRuns(t *testing.T) {
	dir := t.TempDir()
	again := func(n int) func(*flight.Options) { return func(o *flight.Options) { o.Restart = n } }
	other := func(o *flight.Options) { o.RunID = "an/other" }
	newRank(t, dir, 0, 2, other).train(1, "train.forward")
	for restart := range 3 {
		for i := range 2 {
			newRank(t, dir, i, 2, again(restart)).train(1+restart, "train.allreduce")
		}
	}
	r := dead(t, dir, Options{})
	assert.Equal(t, "run-1", r.RunID)
	assert.Len(t, r.Processes, 2)
	assert.Equal(t, 4, r.Earlier)
	said := text(t, r, TextOptions{})
	assert.Contains(t, said, "ranks 0-1: in train.allreduce of step 4")
	assert.Contains(t, said, "4 files of processes that were restarted since are left out\n")
	assert.Regexp(t, `1 other run is here, too: an_other_[0-9a-f]{8}\n`, said)
	assert.Contains(t, said, ", restart 2:")

	for _, name := range []string{"an/other", r.OtherRuns[0]} {
		r = dead(t, dir, Options{RunID: name})
		assert.Equal(t, "an/other", r.RunID)
		assert.Len(t, r.Processes, 1)
	}
	_, err := Load(t.Context(), dir, Options{RunID: "run-7"})
	assert.ErrorContains(t, err, `is of the run "run-7"; the runs there are an_other_`)
	assert.ErrorContains(t, err, ", run-1")
}

// Servers that share a run are all rank 0 of 1.
func TestProcessesThatAreNoRanks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"policy", "judge"} {
		s := newRank(t, dir, 0, 1, func(o *flight.Options) { o.Service, o.Host = name, "host\x1b[31m" })
		s.begin("rollout", spanOf{}, time.Minute)
	}
	said := text(t, dead(t, dir, Options{}), TextOptions{})
	assert.Regexp(t, `judge \(pid \d+ on host�\[31m\), policy \(pid \d+ on host�\[31m\): in rollout for 9m0s`, said)
	assert.NotContains(t, said, "\x1b")
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(t.Context(), dir, Options{})
	assert.ErrorContains(t, err, dir+" has no file of a flight recorder: the name of one ends with .flight")
	_, err = Load(t.Context(), filepath.Join(dir, "none"), Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)

	bad := filepath.Join(dir, "bad.flight")
	require.NoError(t, os.WriteFile(bad, []byte("nothing"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.flight"), 0o700))
	_, err = Load(t.Context(), dir, Options{})
	assert.ErrorContains(t, err, "none of the 1 files in "+dir+" can be read:\n"+bad+": is not the file of a flight recorder")

	a := newRank(t, dir, 0, 2)
	a.train(2, "train.forward")
	b := newRank(t, dir, 1, 2)
	b.train(2, "train.forward")
	require.NoError(t, os.Truncate(b.rec.Path(), 1000))
	renamed := filepath.Join(dir, "renamed.flight")
	require.NoError(t, os.Rename(a.rec.Path(), renamed))
	r := dead(t, dir, Options{})
	assert.Len(t, r.Unreadable, 2)
	said := text(t, r, TextOptions{})
	assert.Contains(t, said, "not read: "+bad)
	assert.Contains(t, said, "not read: "+b.rec.Path()+": ends after 1000 bytes, in the middle of its header")
	assert.Contains(t, said, "rank 0: in train.forward of step 3")
	assert.Contains(t, said, "no file of rank 1")
}

func TestRanges(t *testing.T) {
	for want, ranks := range map[string][]int{
		"": nil, "3": {3}, "0-4,6-511": append(upTo(0, 4), upTo(6, 511)...), "1,3,5": {1, 3, 5}, "1-2": {1, 1, 2},
	} {
		assert.Equal(t, want, Ranges(ranks))
	}
}

func upTo(from, to int) (all []int) {
	for i := from; i <= to; i++ {
		all = append(all, i)
	}
	return all
}

const (
	asReader  = "LENS_POSTMORTEM_READ"
	manyRanks = "LENS_POSTMORTEM_RANKS" // 10,000 on request
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asReader); dir != "" {
		r, err := Load(context.Background(), dir, Options{Now: time.Now().Add(time.Hour)})
		if err == nil {
			err = r.Text(os.Stdout, TextOptions{})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		// What the kernel tells the parent has the memory of the parent in it, from
		// before the exec.
		status, _ := os.ReadFile("/proc/self/status")
		fmt.Println(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindString(string(status)))
		return
	}
	os.Exit(m.Run())
}

// Files of the default size, of ranks that have done many steps.
func TestManyRanks(t *testing.T) {
	ranks := 300
	if n, err := strconv.Atoi(os.Getenv(manyRanks)); err == nil {
		ranks = n
	}
	dir := t.TempDir()
	for i := range ranks {
		until := "train.allreduce"
		if i == ranks/2 {
			until = "train.forward"
		}
		newRank(t, dir, i, ranks, func(o *flight.Options) { o.Slots = 0 }).train(80, until)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asReader+"="+dir)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	require.NoError(t, err, string(out))
	said := string(out)
	assert.Contains(t, said, fmt.Sprintf("first to differ: rank %d did not finish train.forward of step 81, which the other %d of %d did", ranks/2, ranks-1, ranks))
	assert.LessOrEqual(t, strings.Count(said, "\n"), 40)
	if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(said); m != nil {
		kilobytes, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		assert.Less(t, kilobytes, 500<<10)
	}
	t.Logf("%d ranks: %s, %s of processor time\n%s", ranks, took, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), said)
}
