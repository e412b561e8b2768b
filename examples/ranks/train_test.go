package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/examples/internal/mlp"
	"github.com/nemo-lens/lens/examples/internal/programtest"
	"github.com/nemo-lens/lens/examples/ranks/internal/collective"
)

var defaults = settings{steps: 120, batch: 32, hidden: 16, learningRate: 0.01, seed: 1, slowRank: -1, slowWork: 1000, hangRank: -1, hangStep: 20}

// trained runs a job of n ranks in this process, over real connections.
func trained(t *testing.T, s settings, n int) ([]*trainer, []mlp.Evaluation) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Within)
	defer cancel()
	file := filepath.Join(t.TempDir(), "rendezvous")
	trainers, evaluations, errs := make([]*trainer, n), make([]mlp.Evaluation, n), make([]error, n)
	var running sync.WaitGroup
	for rank := range n {
		running.Go(func() {
			errs[rank] = func() error {
				g, err := collective.Join(ctx, rank, n, file)
				if err != nil {
					return err
				}
				defer func() { _ = g.Close() }()
				if trainers[rank], err = newTrainer(s, g); err != nil {
					return err
				}
				evaluations[rank], _, err = trainers[rank].run(ctx)
				if err != nil {
					return err
				}
				return g.Barrier(ctx)
			}()
		})
	}
	running.Wait()
	require.NoError(t, errors.Join(errs...))
	return trainers, evaluations
}

// Many ranks train what one process trains with the same batch, also when the
// batch cannot be divided by them.
func TestRanksTrainWhatOneProcessTrains(t *testing.T) {
	t.Parallel()
	alone, evaluation := trained(t, defaults, 1)
	want := alone[0].network.Params()
	assert.Greater(t, evaluation[0].Accuracy(), 0.93)
	for _, n := range []int{2, 3, 8, 32} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			ranks, evaluations := trained(t, defaults, n)
			for rank := range ranks {
				assert.Equal(t, ranks[0].fingerprint(), ranks[rank].fingerprint())
				assert.Equal(t, evaluation[0].Correct, evaluations[rank].Correct)
				// Rounding depends on the order of the sum; nothing else differs.
				assert.InDeltaSlice(t, want, ranks[rank].network.Params(), 1e-9)
			}
		})
	}
}

// Every sample of a batch is some rank's, once.
func TestSharesMakeUpTheBatch(t *testing.T) {
	t.Parallel()
	s := defaults
	s.steps = 1
	for _, n := range []int{1, 3, 5} {
		ranks, _ := trained(t, s, n)
		for i := range 10 {
			var got []float64
			for _, r := range ranks {
				r.nextShare(i)
				for _, x := range r.share.X {
					got = append(got, x[0])
				}
			}
			var want []float64
			for k := range s.batch {
				at := i*s.batch + k
				want = append(want, ranks[0].train.X[ranks[0].row(at/ranks[0].train.Len(), at%ranks[0].train.Len())][0])
			}
			assert.Equal(t, want, got, "batch %d over %d ranks", i, n)
		}
	}
}

// More work changes the time and nothing else.
func TestTheSlowRankComputesTheSame(t *testing.T) {
	t.Parallel()
	s := defaults
	s.steps = 10
	plain, _ := trained(t, s, 3)
	s.slowRank, s.slowWork = 1, 7
	slow, _ := trained(t, s, 3)
	assert.Equal(t, plain[0].fingerprint(), slow[0].fingerprint())
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want []string
	}{
		{"-n=0", []string{"-n=0: want 1 to 256"}},
		{"-n=257 -batch=300", []string{"-n=257"}},
		{"-strategy=some", []string{"-strategy=some: want one of all_ranks"}},
		{"-steps=0 -hidden=-1 -slow-work=0", []string{"-steps=0", "-hidden=-1", "-slow-work=0"}},
		{"-n=8 -batch=7", []string{"-batch=7 for 8 ranks"}},
		{"-n=2 -slow-rank=2", []string{"-slow-rank=2: want 0 to 1"}},
		{"-lr=NaN", []string{"-lr=NaN"}},
		{"-per-node=0", []string{"-per-node=0"}},
		{"-steps=x", []string{"command line"}},
		{"all", []string{`unexpected argument "all"`}},
	} {
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(test.args), &stderr, &stderr)
		assert.Equal(t, exitUsage, code, test.args)
		for _, want := range test.want {
			assert.Contains(t, stderr.String(), want)
		}
	}
	var stderr strings.Builder
	assert.Equal(t, exitOK, run(t.Context(), []string{"-h"}, &stderr, &stderr))
	assert.Contains(t, stderr.String(), "-slow-rank")
}

func TestRankWithoutAPlace(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{{"RANK=", "WORLD_SIZE="}, {"RANK=2", "WORLD_SIZE=2"}, {"RANK=x", "WORLD_SIZE=2"}} {
		code, _, stderr := program(t, env, asRank)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, "want whole numbers, 0 <= RANK < WORLD_SIZE")
	}
	code, _, stderr := program(t, []string{"RANK=0", "WORLD_SIZE=2"}, asRank)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "-rendezvous is missing")
}

// A job whose loss leaves the numbers ends with that reason, on every rank.
func TestDivergedTrainingFails(t *testing.T) {
	t.Parallel()
	code, _, stderr := program(t, nil, "-n=2", "-lr=1e308", "-strategy=single_rank")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "rank 1: ")
	assert.Contains(t, stderr, "training has diverged")
}
