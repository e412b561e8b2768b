package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
)

// options is what the command line decides.
type options struct {
	settings
	epochs          int
	evaluateEvery   int // epochs
	checkpointEvery int // epochs
	dir             string
	resume          bool
}

// settings decide the numbers that a run computes: two runs with the same
// settings compute the same, and a checkpoint only fits its own.
type settings struct {
	Seed         uint64  `json:"seed"`
	Hidden       int     `json:"hidden"`
	BatchSize    int     `json:"batch_size"`
	LearningRate float64 `json:"learning_rate"`
	HeldOut      float64 `json:"held_out"`
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("training", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.Uint64Var(&o.Seed, "seed", 1, "seed of the split, the weights and the order of the samples")
	set.IntVar(&o.Hidden, "hidden", 16, "units of the hidden layer")
	set.IntVar(&o.BatchSize, "batch", 16, "samples of one step")
	set.Float64Var(&o.LearningRate, "lr", 0.01, "learning rate of Adam")
	set.Float64Var(&o.HeldOut, "held-out", 0.3, "share of the samples that is kept for evaluation")
	set.IntVar(&o.epochs, "epochs", 40, "passes over the training samples, in total")
	set.IntVar(&o.evaluateEvery, "evaluate-every", 10, "epochs between evaluations")
	set.IntVar(&o.checkpointEvery, "checkpoint-every", 10, "epochs between checkpoints")
	set.StringVar(&o.dir, "checkpoint-dir", "", "folder for checkpoints (default: a temporary one, removed at the end)")
	set.BoolVar(&o.resume, "resume", false, "continue from the latest checkpoint in -checkpoint-dir")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("command line: %w", err)
	}
	return o, o.validate(set.Args())
}

func (o options) validate(rest []string) error {
	var errs []error
	if len(rest) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q: this command takes flags only", rest[0]))
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"hidden", o.Hidden}, {"batch", o.BatchSize}, {"epochs", o.epochs},
		{"evaluate-every", o.evaluateEvery}, {"checkpoint-every", o.checkpointEvery}} {
		if f.value < 1 {
			errs = append(errs, fmt.Errorf("-%s=%d: want a whole number above 0", f.name, f.value))
		}
	}
	if !(o.LearningRate > 0) || math.IsInf(o.LearningRate, 0) {
		errs = append(errs, fmt.Errorf("-lr=%v: want a finite number above 0", o.LearningRate))
	}
	// A class has 50 samples, and each part needs at least one of every class.
	if !(o.HeldOut >= 0.02 && o.HeldOut <= 0.98) {
		errs = append(errs, fmt.Errorf("-held-out=%v: want a number from 0.02 to 0.98", o.HeldOut))
	}
	if o.resume && o.dir == "" {
		errs = append(errs, errors.New("-resume needs -checkpoint-dir: name the folder to continue from"))
	}
	return errors.Join(errs...)
}
