// Command makerun writes the spans of a made-up training run, a file for each
// rank: something of any size to look at and to measure with.
//
//	go run ./cmd/nemo-lens/internal/tracegen/makerun -ranks 64 -steps 200 -dir /tmp/run
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

func main() {
	r := tracegen.Run{ID: "made-up", Start: 1_700_000_000e9, Batch: 512}
	dir := flag.String("dir", ".", "folder for the files")
	flag.IntVar(&r.Ranks, "ranks", 8, "ranks, a file each")
	flag.IntVar(&r.Steps, "steps", 200, "training steps")
	flag.IntVar(&r.Micro, "micro", 4, "microbatches of a step, a span each")
	flag.IntVar(&r.SlowRank, "slow-rank", 3, "a rank that computes half as long again; -1 for none")
	flag.Uint64Var(&r.Seed, "seed", 1, "seed of the times")
	flag.Float64Var(&r.Factor, "factor", 1, "makes the computation slower")
	flag.Parse()
	if err := write(r, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "makerun:", err)
		os.Exit(1)
	}
	fmt.Println(r.Ranks*r.Spans(), "spans")
}

func write(r tracegen.Run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for rank := range r.Ranks {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("rank-%d.jsonl", rank)))
		if err != nil {
			return err
		}
		if err := errors.Join(r.WriteRank(f, rank), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
