package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	if programtest.IsProgram() {
		main()
	}
	goleak.VerifyTestMain(m)
}

// setEnv gives the test this environment for telemetry and nothing else: what the
// machine has set is blanked, which counts as not set.
func setEnv(t *testing.T, env map[string]string) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "NEMO_LENS_") || strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
}

// execute runs the program in this process.
func execute(t *testing.T, args []string, extra ...lens.Option) (code int, stderr string) {
	t.Helper()
	var out bytes.Buffer
	code = run(context.Background(), args, &out, extra...)
	return code, out.String()
}

func parse(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parseOptions(args, io.Discard)
	require.NoError(t, err)
	return o
}

func TestReachesTheStatedAccuracy(t *testing.T) {
	t.Parallel()
	r, err := train(context.Background(), parse(t), nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, r.evaluation.Accuracy(), 0.95)
	assert.Equal(t, 45, r.evaluation.Total)
	assert.Equal(t, 280, r.steps)
	assert.Less(t, r.evaluation.Loss, 0.25)
	assert.Empty(t, r.checkpoint)
}

// Not one lucky split: the model learns whatever the seed, compared with the
// third that guessing would get.
func TestLearnsWithOtherSeeds(t *testing.T) {
	t.Parallel()
	for _, seed := range []string{"2", "3", "4", "5", "6"} {
		r, err := train(context.Background(), parse(t, "-seed="+seed), nil)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, r.evaluation.Accuracy(), 0.9, "seed %s", seed)
	}
}

func TestSameSeedSameModel(t *testing.T) {
	t.Parallel()
	a, b, other := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, seed := range map[string]string{a: "1", b: "1", other: "2"} {
		_, err := train(context.Background(), parse(t, "-epochs=5", "-checkpoint-dir="+dir, "-seed="+seed), nil)
		require.NoError(t, err)
	}
	assert.Equal(t, latestBytes(t, a), latestBytes(t, b))
	assert.NotEqual(t, latestBytes(t, a), latestBytes(t, other))
}

// Stopping and resuming gives the very bytes of a run that never stopped.
func TestResumeContinuesExactly(t *testing.T) {
	t.Parallel()
	straight, stopped := t.TempDir(), filepath.Join(t.TempDir(), "made", "by", "the", "program")
	whole, err := train(context.Background(), parse(t, "-checkpoint-dir="+straight), nil)
	require.NoError(t, err)
	part, err := train(context.Background(), parse(t, "-epochs=17", "-checkpoint-dir="+stopped), nil)
	require.NoError(t, err)
	require.NotEqual(t, latestBytes(t, straight), latestBytes(t, stopped))

	rest, err := train(context.Background(), parse(t, "-checkpoint-dir="+stopped, "-resume"), nil)
	require.NoError(t, err)
	assert.Equal(t, latestBytes(t, straight), latestBytes(t, stopped))
	assert.Equal(t, whole.evaluation, rest.evaluation)
	assert.Equal(t, 17*7, part.steps)
	assert.Equal(t, 40*7, rest.steps)
}

func latestBytes(t *testing.T, dir string) string {
	t.Helper()
	path, err := latestCheckpoint(dir)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// The interruption falls into the middle of an epoch, and still nothing is lost.
func TestInterruptedRunSavesAndResumesExactly(t *testing.T) {
	t.Parallel()
	straight, stopped := t.TempDir(), t.TempDir()
	_, err := train(context.Background(), parse(t, "-checkpoint-dir="+straight), nil)
	require.NoError(t, err)

	o := parse(t, "-checkpoint-dir="+stopped)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupted, err := newTrainer(ctx, o)
	require.NoError(t, err)
	update := interrupted.update
	interrupted.update = func(ctx context.Context) error {
		if interrupted.steps == 99 { // the 100th step, two into epoch 15
			cancel()
		}
		return update(ctx)
	}
	err = interrupted.run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "interrupted after step 100")
	require.FileExists(t, filepath.Join(stopped, "step-00000100.json"))

	_, err = train(context.Background(), parse(t, "-checkpoint-dir="+stopped, "-resume"), nil)
	require.NoError(t, err)
	assert.Equal(t, latestBytes(t, straight), latestBytes(t, stopped))
}

func TestCheckpointOfOtherSettingsIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := train(context.Background(), parse(t, "-epochs=2", "-checkpoint-dir="+dir), nil)
	require.NoError(t, err)
	_, err = train(context.Background(), parse(t, "-epochs=4", "-checkpoint-dir="+dir, "-resume", "-hidden=8"), nil)
	assert.ErrorContains(t, err, "-hidden=8")
	assert.ErrorContains(t, err, "-hidden=16")
	_, err = train(context.Background(), parse(t, "-epochs=1", "-checkpoint-dir="+dir, "-resume"), nil)
	assert.ErrorContains(t, err, "beyond -epochs=1")
}

func TestDivergenceIsAnErrorAndIsNotSaved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := train(context.Background(), parse(t, "-lr=1e308", "-checkpoint-dir="+dir), nil)
	require.ErrorContains(t, err, "diverged")
	require.ErrorContains(t, err, "smaller -lr")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestTemporaryFolderIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp) // Unix
	t.Setenv("TMP", tmp)    // Windows
	_, err := train(context.Background(), parse(t, "-epochs=1"), nil)
	require.NoError(t, err)
	_, err = train(context.Background(), parse(t, "-epochs=1", "-lr=1e308"), nil)
	require.ErrorContains(t, err, "diverged")
	entries, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestWrongFlags(t *testing.T) {
	setEnv(t, nil)
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"-epochs=0", "-batch=-1", "-lr=NaN"}, []string{"-epochs=0", "-batch=-1", "-lr=NaN", "above 0"}},
		{[]string{"-held-out=1"}, []string{"-held-out=1", "0.98"}},
		{[]string{"-resume"}, []string{"-resume needs -checkpoint-dir"}},
		{[]string{"-epochs=many"}, []string{"many", "-epochs"}},
		{[]string{"-nonsense"}, []string{"nonsense"}},
		{[]string{"extra"}, []string{`"extra"`}},
	} {
		code, stderr := execute(t, test.args)
		assert.Equal(t, exitUsage, code, "%v", test.args)
		for _, want := range test.want {
			assert.Contains(t, stderr, want)
		}
	}
	code, stderr := execute(t, []string{"-h"})
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stderr, "-checkpoint-dir")
}

func TestRunsWithTelemetryOff(t *testing.T) {
	setEnv(t, nil)
	code, stderr := execute(t, nil)
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stderr, "accuracy")
	assert.Contains(t, stderr, "telemetry is off")
}

func TestFailedTrainingIsExitCode1(t *testing.T) {
	setEnv(t, nil)
	code, stderr := execute(t, []string{"-checkpoint-dir", t.TempDir(), "-resume"})
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "run without -resume first")
}
