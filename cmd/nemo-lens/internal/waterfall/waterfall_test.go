package waterfall

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/terminal"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen/store"
)

// TestEveryLineFits draws runs at all widths; no line may be longer than asked for.
func TestEveryLineFits(t *testing.T) {
	s, err := store.Load(tracegen.Run{ID: "a", Ranks: 3, Steps: 5, Micro: 2, SlowRank: 1, Start: 1_700_000_000e9, Batch: 8})
	if err != nil {
		t.Fatal(err)
	}
	for width := terminal.MinWidth; width < 200; width += 7 {
		for _, ascii := range []bool{false, true} {
			var out bytes.Buffer
			left, err := Draw(&out, terminal.Style{Width: width, ASCII: ascii}, s, Options{Roots: s.Roots(), All: true})
			if err != nil || left != 0 {
				t.Fatal(left, err)
			}
			if n := strings.Count(out.String(), "\n"); n != s.Len() {
				t.Errorf("%d lines for %d spans", n, s.Len())
			}
			for line := range strings.Lines(out.String()) {
				if n := terminal.Columns(strings.TrimSuffix(line, "\n")); n > width {
					t.Fatalf("%d columns: %q has %d", width, line, n)
				}
			}
		}
	}
}

// TestManySpansTakeFewLines holds the limit, and says how many lines are missing.
func TestManySpansTakeFewLines(t *testing.T) {
	s, err := store.Load(tracegen.Run{ID: "a", Ranks: 64, Steps: 20, Micro: 2, SlowRank: 1, Start: 1_700_000_000e9, Batch: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, lines := range []int{1, 10, 40} {
		var out bytes.Buffer
		left, err := Draw(&out, terminal.Style{Width: 100}, s, Options{Roots: s.Roots(), Lines: lines})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != lines || left == 0 {
			t.Errorf("%d lines, %d left; want %d lines", n, left, lines)
		}
	}
	var out bytes.Buffer
	if _, err := Draw(&out, terminal.Style{Width: 100}, s, Options{Roots: s.Roots()}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "rank 63 train.step ×17 more") {
		t.Errorf("alike siblings have lines of their own:\n%s", out.String()[:2000])
	}
}

func TestNoSpansIsNoOutput(t *testing.T) {
	var out bytes.Buffer
	if left, err := Draw(&out, terminal.Style{Width: 100}, nil, Options{}); left != 0 || err != nil || out.Len() != 0 {
		t.Errorf("%d, %v, %q", left, err, out.String())
	}
}
