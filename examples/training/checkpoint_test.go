package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/examples/internal/mlp"
)

func sampleCheckpoint() checkpoint {
	return checkpoint{
		Format:   checkpointFormat,
		Settings: settings{Seed: 1, Hidden: 2, BatchSize: 3, LearningRate: 0.1, HeldOut: 0.3},
		Step:     12,
		Layers:   []int{1, 2},
		// Values whose decimal text is long, tiny or signed: every bit must survive.
		Params:    []float64{1.0 / 3, -5e-324, 1.7976931348623157e308, 0.1},
		Optimizer: &mlp.Adam{LearningRate: 0.1, Steps: 12, First: []float64{1, 2, 3, 4}, Second: []float64{4, 3, 0, 1}},
	}
}

func TestCheckpointRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := sampleCheckpoint()
	path, err := want.save(dir)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "step-00000012.json"), path)
	got, err := loadCheckpoint(path, want.Settings)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing but the checkpoint is left")
}

func TestCheckpointThatCannotBeWrittenLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A folder in the way of the name makes the last act, the rename, fail.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "step-00000012.json", "x"), 0o755))
	_, err := sampleCheckpoint().save(dir)
	require.ErrorContains(t, err, "checkpoint of step 12")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)

	_, err = sampleCheckpoint().save(filepath.Join(dir, "missing"))
	assert.ErrorContains(t, err, "checkpoint of step 12")
}

func TestLatestCheckpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := latestCheckpoint(dir)
	require.ErrorContains(t, err, "run without -resume first")
	_, err = latestCheckpoint(filepath.Join(dir, "missing"))
	require.ErrorContains(t, err, "missing")

	// Nine digits sort before eight as text, and the rest are not checkpoints.
	for _, name := range []string{"step-00000020.json", "step-99999999.json", "step-100000000.json", "step-7.json", "writing-123.tmp", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	path, err := latestCheckpoint(dir)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "step-100000000.json"), path)
}

func TestDamagedCheckpointsAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(*checkpoint)
		want  string
	}{
		{"format", func(c *checkpoint) { c.Format = 2 }, "format 2: this program reads format 1"},
		{"other seed", func(c *checkpoint) { c.Settings.Seed = 5 }, "-seed=5"},
		{"negative step", func(c *checkpoint) { c.Step = -1 }, "step -1"},
		{"no optimizer", func(c *checkpoint) { c.Optimizer = nil }, "optimizer present: false"},
		{"short moments", func(c *checkpoint) { c.Optimizer.First = nil }, "optimizer's state"},
		{"optimizer of another step", func(c *checkpoint) { c.Optimizer.Steps = 11 }, "optimizer's state"},
		{"negative second moment", func(c *checkpoint) { c.Optimizer.Second[2] = -1 }, "second moment 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := sampleCheckpoint()
			want := c.Settings
			test.spoil(&c)
			data, err := json.Marshal(c)
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "step-00000012.json")
			require.NoError(t, os.WriteFile(path, data, 0o600))
			_, err = loadCheckpoint(path, want)
			require.ErrorContains(t, err, test.want)
			assert.ErrorContains(t, err, path)
		})
	}

	path := filepath.Join(t.TempDir(), "step-00000012.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"format": 1,`), 0o600))
	_, err := loadCheckpoint(path, settings{})
	assert.ErrorContains(t, err, "damaged")
	_, err = loadCheckpoint(path+".missing", settings{})
	assert.ErrorContains(t, err, "missing")
}
