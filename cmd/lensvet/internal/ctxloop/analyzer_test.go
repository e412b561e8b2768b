package ctxloop_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/nemo-lens/lens/cmd/lensvet/internal/ctxloop"
)

// A line with a "want" comment has to have that report, and every other line
// none: grows has the loops that are wrong, stays those that only look like
// them, and wrapped those that go through a helper of another package.
func TestAnalyzer(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), ctxloop.Analyzer, "grows", "stays", "wrapper", "wrapped")
}
