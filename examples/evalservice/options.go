package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym"
)

// usageError is the caller's to mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// options are the command line of the supervisor.
type options struct {
	rollouts    int
	concurrency int
	groups      string // empty: as the environment or run.json says
	keep        string // empty: a temporary folder
}

// The upper ends keep a slip of the finger from filling the disk.
const (
	maxRollouts    = 1_000_000
	maxConcurrency = 1024
)

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("evalservice", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.IntVar(&o.rollouts, "rollouts", 120, "rollouts in all; they go through the tasks in turn")
	set.IntVar(&o.concurrency, "concurrency", 8, "rollouts under way at once")
	set.StringVar(&o.groups, "groups", "", "span groups and presets, before any variable: "+lens.DefaultRegistry.Groups().String()+"; default, per_rollout, all")
	set.StringVar(&o.keep, "keep", "", "folder to leave the files of the processes in")
	if err := parse(set, args); err != nil {
		return o, err
	}
	var faults []error
	if o.rollouts < 1 || o.rollouts > maxRollouts {
		faults = append(faults, fmt.Errorf("-rollouts=%d: want 1 to %d", o.rollouts, maxRollouts))
	}
	if o.concurrency < 1 || o.concurrency > maxConcurrency {
		faults = append(faults, fmt.Errorf("-concurrency=%d: want 1 to %d", o.concurrency, maxConcurrency))
	}
	// A variable may name groups of other programs; a flag of this one may not.
	if _, err := gym.ResolveSpanGroups(o.groups); err != nil {
		faults = append(faults, fmt.Errorf("-groups=%s: %w", o.groups, err))
	}
	return o, usage(faults)
}

// serverOptions are the command line of a server.
type serverOptions struct {
	name  string
	peers map[string]string // name to URL
}

func parseServer(args []string, stderr io.Writer) (serverOptions, error) {
	o := serverOptions{peers: make(map[string]string)}
	set := flag.NewFlagSet("evalservice server", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&o.name, "name", "", "name of the server in run.json")
	set.Func("peer", "a server that this one calls, as name=URL; may be repeated", func(text string) error {
		name, url, ok := strings.Cut(text, "=")
		if !ok || name == "" || url == "" {
			return errors.New("want name=URL")
		}
		o.peers[name] = url
		return nil
	})
	return o, parse(set, args)
}

func parse(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	if set.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", set.Arg(0))}
	}
	return nil
}

func usage(faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return usageError{errors.Join(faults...)}
}
