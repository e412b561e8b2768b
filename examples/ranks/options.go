package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nemo-lens/lens"
)

// settings decide what a run computes; all ranks have the same.
type settings struct {
	steps        int
	batch        int // samples of one step, over all ranks
	hidden       int
	learningRate float64
	seed         uint64
	slowRank     int // -1: none
	slowWork     int // how often slowRank computes its gradient
	hangRank     int // -1: none
	hangStep     int // in which hangRank stays for ever
}

func (s *settings) register(set *flag.FlagSet) {
	set.IntVar(&s.steps, "steps", 120, "training steps")
	set.IntVar(&s.batch, "batch", 32, "samples of one step, over all ranks")
	set.IntVar(&s.hidden, "hidden", 16, "units of the hidden layer")
	set.Float64Var(&s.learningRate, "lr", 0.01, "learning rate of Adam")
	set.Uint64Var(&s.seed, "seed", 1, "seed of the split, the weights and the order of the samples")
	set.IntVar(&s.slowRank, "slow-rank", -1, "a rank that is given more work in every step; -1 for none")
	set.IntVar(&s.slowWork, "slow-work", 1000, "how many times -slow-rank computes its gradient")
	set.IntVar(&s.hangRank, "hang-rank", -1, "a rank that stays for ever in -hang-step, as one does whose GPU has gone; -1 for none")
	set.IntVar(&s.hangStep, "hang-step", 20, "the step in which -hang-rank stays, from 1 on")
}

// args are the flags that give another process the same settings.
func (s settings) args() []string {
	return []string{
		"-steps=" + strconv.Itoa(s.steps), "-batch=" + strconv.Itoa(s.batch), "-hidden=" + strconv.Itoa(s.hidden),
		"-lr=" + strconv.FormatFloat(s.learningRate, 'g', -1, 64), "-seed=" + strconv.FormatUint(s.seed, 10),
		"-slow-rank=" + strconv.Itoa(s.slowRank), "-slow-work=" + strconv.Itoa(s.slowWork),
		"-hang-rank=" + strconv.Itoa(s.hangRank), "-hang-step=" + strconv.Itoa(s.hangStep),
	}
}

func (s settings) faults(world int) (faults []error) {
	for _, f := range []struct {
		name  string
		value int
	}{{"steps", s.steps}, {"batch", s.batch}, {"hidden", s.hidden}, {"slow-work", s.slowWork}, {"hang-step", s.hangStep}} {
		if f.value < 1 {
			faults = append(faults, fmt.Errorf("-%s=%d: want a whole number above 0", f.name, f.value))
		}
	}
	if !(s.learningRate > 0) || math.IsInf(s.learningRate, 0) {
		faults = append(faults, fmt.Errorf("-lr=%v: want a finite number above 0", s.learningRate))
	}
	if world > 0 && s.batch >= 1 && s.batch < world {
		faults = append(faults, fmt.Errorf("-batch=%d for %d ranks: want at least one sample for each", s.batch, world))
	}
	for _, f := range []struct {
		name string
		rank int
	}{{"slow-rank", s.slowRank}, {"hang-rank", s.hangRank}} {
		if f.rank < -1 || (world > 0 && f.rank >= world) {
			faults = append(faults, fmt.Errorf("-%s=%d: want 0 to %d, or -1 for none", f.name, f.rank, world-1))
		}
	}
	return faults
}

// launchOptions are the command line of the first process.
type launchOptions struct {
	settings
	ranks      int
	perNode    int
	strategies []string
}

// maxRanks keeps a slip of the finger from starting a million processes.
const maxRanks = 256

func parseLaunch(args []string, stderr io.Writer) (launchOptions, error) {
	var o launchOptions
	known := lens.RegisteredExportStrategies()
	set := flag.NewFlagSet("ranks", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.IntVar(&o.ranks, "n", 4, "ranks, each a process")
	set.IntVar(&o.perNode, "per-node", 4, "ranks of one node: LOCAL_RANK counts up to it")
	strategy := set.String("strategy", "", "export strategy, one of "+strings.Join(known, ", ")+" (default: a run with each)")
	o.register(set)
	if err := parse(set, args); err != nil {
		return o, err
	}
	faults := o.faults(o.ranks)
	if o.ranks < 1 || o.ranks > maxRanks {
		faults = append(faults, fmt.Errorf("-n=%d: want 1 to %d", o.ranks, maxRanks))
	}
	if o.perNode < 1 {
		faults = append(faults, fmt.Errorf("-per-node=%d: want a whole number above 0", o.perNode))
	}
	switch {
	case *strategy == "":
		o.strategies = []string{"single_rank", "all_ranks", "sampled", "first_rank_per_node"}
	case slices.Contains(known, *strategy):
		o.strategies = []string{*strategy}
	default:
		faults = append(faults, fmt.Errorf("-strategy=%s: want one of %s", *strategy, strings.Join(known, ", ")))
	}
	return o, usage(faults)
}

// rankOptions are the command line of a rank.
type rankOptions struct {
	settings
	rendezvous string
}

func parseRank(args []string, world int, stderr io.Writer) (rankOptions, error) {
	var o rankOptions
	set := flag.NewFlagSet("ranks rank", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&o.rendezvous, "rendezvous", "", "file through which the ranks find rank 0, a new one for each run")
	o.register(set)
	if err := parse(set, args); err != nil {
		return o, err
	}
	faults := o.faults(world)
	if o.rendezvous == "" && world > 1 {
		faults = append(faults, errors.New("-rendezvous is missing: name a file that does not exist yet, the same for all ranks"))
	}
	return o, usage(faults)
}

func parse(set *flag.FlagSet, args []string) error {
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usageError{fmt.Errorf("command line: %w", err)}
	case set.NArg() > 0:
		return usageError{fmt.Errorf("unexpected argument %q: this command takes flags only", set.Arg(0))}
	}
	return nil
}

func usage(faults []error) error {
	if err := errors.Join(faults...); err != nil {
		return usageError{err}
	}
	return nil
}
