package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/nemo-lens/lens/examples/internal/mlp"
)

// checkpointFormat changes when the file's meaning does.
const checkpointFormat = 1

// checkpoint is all that a run needs to continue exactly where it was: the order
// of the samples follows from the seed and the step. JSON keeps every bit of a
// finite float64.
type checkpoint struct {
	Format    int       `json:"format"`
	Settings  settings  `json:"settings"`
	Step      int       `json:"step"` // steps made
	Layers    []int     `json:"layers"`
	Params    []float64 `json:"params"`
	Optimizer *mlp.Adam `json:"optimizer"`
}

var checkpointName = regexp.MustCompile(`^step-([0-9]{8,})\.json$`)

// save writes the checkpoint into dir under a name made from its step, and
// returns the path. The file appears complete or not at all: it is written under
// another name, synced and renamed.
func (c checkpoint) save(dir string) (path string, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("checkpoint of step %d: %w", c.Step, err)
	}
	file, err := os.CreateTemp(dir, "writing-*.tmp")
	if err != nil {
		return "", fmt.Errorf("checkpoint of step %d: %w", c.Step, err)
	}
	defer func() {
		if err != nil {
			// Both may have happened already; the first error is the one to tell.
			_ = file.Close()
			_ = os.Remove(file.Name())
			err = fmt.Errorf("checkpoint of step %d: %w", c.Step, err)
		}
	}()
	if _, err := file.Write(data); err != nil {
		return "", err
	}
	if err := file.Sync(); err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	path = filepath.Join(dir, fmt.Sprintf("step-%08d.json", c.Step))
	return path, os.Rename(file.Name(), path)
}

// latestCheckpoint returns the path of the checkpoint with the highest step in
// dir. Other files are ignored.
func latestCheckpoint(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("checkpoint folder: %w", err)
	}
	latest, path := -1, ""
	for _, entry := range entries {
		match := checkpointName.FindStringSubmatch(entry.Name())
		if match == nil {
			continue
		}
		step, err := strconv.Atoi(match[1])
		if err == nil && step > latest {
			latest, path = step, filepath.Join(dir, entry.Name())
		}
	}
	if path == "" {
		return "", fmt.Errorf("checkpoint folder %s: no file named step-<number>.json: run without -resume first", dir)
	}
	return path, nil
}

// loadCheckpoint reads a checkpoint and refuses one that is damaged or was made
// with other settings.
func loadCheckpoint(path string, want settings) (c checkpoint, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("checkpoint: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("checkpoint %s: damaged: %w", path, err)
	}
	if err := c.check(want); err != nil {
		return c, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	return c, nil
}

func (c checkpoint) check(want settings) error {
	if c.Format != checkpointFormat {
		return fmt.Errorf("format %d: this program reads format %d", c.Format, checkpointFormat)
	}
	if c.Settings != want {
		return fmt.Errorf("made with %s, this run has %s: use the same flags or another folder", c.Settings, want)
	}
	if c.Step < 0 || c.Optimizer == nil {
		return fmt.Errorf("damaged: step %d, optimizer present: %t", c.Step, c.Optimizer != nil)
	}
	a := c.Optimizer
	if len(a.First) != len(c.Params) || len(a.Second) != len(c.Params) || a.Steps != c.Step || a.LearningRate != want.LearningRate {
		return errors.New("damaged: the optimizer's state does not belong to this model and step")
	}
	for i, second := range a.Second {
		if !(second >= 0) {
			return fmt.Errorf("damaged: the optimizer's second moment %d is %v: want 0 or more", i, second)
		}
	}
	return nil
}

func (s settings) String() string {
	return fmt.Sprintf("-seed=%d -hidden=%d -batch=%d -lr=%v -held-out=%v", s.Seed, s.Hidden, s.BatchSize, s.LearningRate, s.HeldOut)
}
