package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nemo-lens/lens/examples/internal/children"
)

// graceful is how long an interrupted rank has to end in order.
const graceful = 10 * time.Second

// job is one run of all ranks under one strategy.
type job struct {
	strategy string
	results  []result // in rank order
	spans    []span
}

// runLauncher is the first process.
func runLauncher(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parseLaunch(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lens-ranks-")
	if err != nil {
		return fmt.Errorf("folder for the spans: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var jobs []job
	for _, strategy := range o.strategies {
		j, err := launch(ctx, o, strategy, filepath.Join(dir, strategy), stderr)
		if err != nil {
			return fmt.Errorf("strategy %s: %w", strategy, err)
		}
		jobs = append(jobs, j)
	}
	return report(stdout, o, jobs)
}

// launch starts the ranks, waits for all of them, and reads what they left in
// dir. When one fails the others notice by themselves.
func launch(ctx context.Context, o launchOptions, strategy, dir string, stderr io.Writer) (job, error) {
	j := job{strategy: strategy, results: make([]result, o.ranks)}
	self, err := os.Executable()
	if err != nil {
		return j, fmt.Errorf("the program's own file: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return j, fmt.Errorf("folder for the spans: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runID := rand.Text()[:12]
	args := append([]string{asRank, "-rendezvous=" + filepath.Join(dir, "rendezvous")}, o.args()...)
	errs := make([]error, o.ranks)
	var running sync.WaitGroup
	lines := children.NewLines(stderr)
	for rank := range o.ranks {
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Env = rankEnv(os.Environ(), o, strategy, rank, runID, spanFile(dir, rank))
		cmd.WaitDelay = graceful
		cmd.Cancel = func() error {
			if err := cmd.Process.Signal(os.Interrupt); err != nil { // not everywhere
				return cmd.Process.Kill()
			}
			return nil
		}
		var out bytes.Buffer
		said := lines.From(fmt.Sprintf("rank %d: ", rank))
		cmd.Stdout, cmd.Stderr = &out, said
		if err := cmd.Start(); err != nil {
			errs[rank] = fmt.Errorf("rank %d: %w", rank, err)
			cancel()
			break
		}
		running.Go(func() {
			err := cmd.Wait()
			_ = said.Close()
			if err == nil {
				err = json.Unmarshal(out.Bytes(), &j.results[rank])
			}
			if err != nil {
				errs[rank] = fmt.Errorf("rank %d: %w", rank, err)
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return j, err
	}
	for rank := range o.ranks {
		spans, err := readSpans(spanFile(dir, rank))
		if err != nil {
			return j, fmt.Errorf("the spans of rank %d: %w", rank, err)
		}
		j.spans = append(j.spans, spans...)
	}
	return j, sameModel(j.results)
}

func spanFile(dir string, rank int) string {
	return filepath.Join(dir, fmt.Sprintf("rank-%d.jsonl", rank))
}

// sameModel is what data-parallel training promises.
func sameModel(results []result) error {
	for rank, r := range results {
		if r.Weights != results[0].Weights {
			return fmt.Errorf("rank %d ended with the weights %s, rank 0 with %s: the ranks have drifted apart", rank, r.Weights, results[0].Weights)
		}
	}
	return nil
}

// rankEnv is what a launcher gives a rank, and where this example wants its
// spans. What the user has set of the detail stays: groups, sample rate, and
// whether telemetry is on.
func rankEnv(environ []string, o launchOptions, strategy string, rank int, runID, file string) []string {
	set := map[string]string{
		"RANK": strconv.Itoa(rank), "WORLD_SIZE": strconv.Itoa(o.ranks), "LOCAL_RANK": strconv.Itoa(rank % o.perNode),
		"NEMO_LENS_EXPORT_STRATEGY": strategy,
		"NEMO_LENS_EXPORTER":        "console",
		"NEMO_LENS_EXPORTER_FILE":   file,
		"NEMO_LENS_METRICS_ENABLED": "0",
		"NEMO_LENS_LOGS_ENABLED":    "0",
	}
	unlessSet := map[string]string{
		"NEMO_LENS_ENABLED":            "1",
		"NEMO_LENS_SPAN_GROUPS":        "per_step",
		"NEMO_LENS_EXPORT_SAMPLE_RATE": "0.5",
		"NEMO_LENS_RUN_ID":             runID,
	}
	var env []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if _, ours := set[name]; ours {
			continue
		}
		if _, ours := unlessSet[name]; ours && strings.TrimSpace(value) == "" {
			continue // blank means not set
		}
		delete(unlessSet, name)
		if name == "SLURM_JOB_ID" { // is a run id already, the same on all ranks
			delete(unlessSet, "NEMO_LENS_RUN_ID")
		}
		env = append(env, entry)
	}
	for _, more := range []map[string]string{set, unlessSet} {
		for name, value := range more {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}
