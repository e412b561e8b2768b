package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/ranks/internal/collective"
	"github.com/nemo-lens/lens/semconv"
)

// result is the line that a rank writes to standard output when it has trained.
type result struct {
	Rank    int     `json:"rank"`
	Correct int     `json:"correct"`
	Total   int     `json:"total"`
	Loss    float64 `json:"loss"`    // on the samples held out
	Weights string  `json:"weights"` // fingerprint
}

// runRank is one rank of the job.
func runRank(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	rank, world, err := placeFromEnv()
	if err != nil {
		return usageError{err}
	}
	o, err := parseRank(args, world, stderr)
	if err != nil {
		return err
	}
	cfg, err := lens.FromEnv("", "", groups)
	if err != nil {
		return usageError{err}
	}
	// The start-up line of every rank would be too much here; warnings are not.
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	telemetry, err := lens.SetupTelemetry(ctx, cfg, lens.WithRankFromEnv(), lens.WithLogger(logger))
	if err != nil {
		return usageError{err}
	}
	defer func() {
		// Spans that are lost are said, and do not undo the training.
		if err := telemetry.Shutdown(ctx); err != nil {
			fmt.Fprintln(stderr, "telemetry is incomplete:", err)
		}
	}()

	group, err := collective.Join(ctx, rank, world, o.rendezvous)
	if err != nil {
		return err
	}
	defer func() { _ = group.Close() }()
	r, err := takePart(ctx, o.settings, group, telemetry.IsExporting())
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(r)
}

// placeFromEnv reads what torchrun sets.
func placeFromEnv() (rank, world int, err error) {
	rank, rankErr := strconv.Atoi(os.Getenv("RANK"))
	world, worldErr := strconv.Atoi(os.Getenv("WORLD_SIZE"))
	if rankErr != nil || worldErr != nil || rank < 0 || rank >= world {
		return 0, 0, fmt.Errorf("RANK=%q and WORLD_SIZE=%q: want whole numbers, 0 <= RANK < WORLD_SIZE", os.Getenv("RANK"), os.Getenv("WORLD_SIZE"))
	}
	return rank, world, nil
}

// takePart trains inside the one trace of the job. It begins on a rank that
// exports: the trace context of any other would be empty.
func takePart(ctx context.Context, s settings, g *collective.Group, exports bool) (r result, err error) {
	root, err := firstExporter(ctx, g, exports)
	if err != nil {
		return r, err
	}
	if g.Rank() == root {
		spanCtx, span := lens.ManagedSpan(ctx, lens.Job, spanJob, semconv.DLWorldSizeKey.Int(g.WorldSize()))
		defer lens.End(span, &err)
		ctx = spanCtx
	}
	carrier, err := lens.BroadcastTraceContext(ctx, g, g.Rank(), root)
	if err != nil {
		return r, err
	}
	if g.Rank() != root {
		ctx = lens.ExtractContext(ctx, carrier)
	}

	t, err := newTrainer(s, g)
	if err != nil {
		return r, err
	}
	e, _, err := t.run(ctx)
	if err != nil {
		return r, err
	}
	r = result{Rank: g.Rank(), Correct: e.Correct, Total: e.Total, Loss: e.Loss, Weights: t.fingerprint()}
	return r, g.Barrier(ctx) // the job is over when every rank is
}

// firstExporter is the lowest rank that exports, the same answer on every rank;
// 0 when there is none.
func firstExporter(ctx context.Context, g *collective.Group, exports bool) (int, error) {
	exporting := make([]float64, g.WorldSize())
	if exports {
		exporting[g.Rank()] = 1
	}
	if err := g.AllReduce(ctx, exporting); err != nil {
		return 0, err
	}
	for rank, yes := range exporting {
		if yes > 0 {
			return rank, nil
		}
	}
	return 0, nil
}
