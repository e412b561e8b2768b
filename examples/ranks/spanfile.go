package main

import (
	"github.com/nemo-lens/lens/examples/internal/children"
	"github.com/nemo-lens/lens/semconv"
)

// span is a span, and where in the job it belongs.
type span struct {
	children.Span
	rank int // of the process
	step int // 0: belongs to no step
}

// readSpans reads the file of one rank. A rank that does not export has none.
func readSpans(path string) (spans []span, err error) {
	var all children.Exported
	err = all.ReadFile(path)
	for _, s := range all.Spans {
		spans = append(spans, span{s, s.Resource.Int(string(semconv.DLRankKey)), s.Attributes.Int(string(semconv.DLIterationKey))})
	}
	return spans, err
}
