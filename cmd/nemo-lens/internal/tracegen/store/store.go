// Package store loads made-up runs.
package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

// Load is the store that holds all ranks of a run.
func Load(r tracegen.Run) (*trace.Store, error) {
	s, report := trace.NewStore(true), &trace.Report{}
	reader := trace.Reader{Store: s, Report: report}
	for rank := range r.Ranks {
		var file bytes.Buffer
		if err := r.WriteRank(&file, rank); err != nil {
			return nil, err
		}
		if err := reader.Read(context.Background(), fmt.Sprint("rank ", rank), &file); err != nil {
			return nil, err
		}
	}
	s.Resolve(report)
	if text := report.LeftOut(); text != "" {
		return nil, fmt.Errorf("left out: %s", text)
	}
	return s, nil
}
