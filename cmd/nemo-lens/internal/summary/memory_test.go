package summary

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

// TestMemoryOfASpan holds the memory of a span near where it is, a megabyte of buffers
// included. The summary of five million spans in files takes 475 MB at that.
func TestMemoryOfASpan(t *testing.T) {
	r := tracegen.Run{ID: "a", Ranks: 8, Steps: 1_560, Micro: 4, SlowRank: 1, Start: 1_700_000_000e9, Batch: 512}
	var files []bytes.Buffer
	for rank := range r.Ranks {
		files = append(files, bytes.Buffer{})
		if err := r.WriteRank(&files[rank], rank); err != nil {
			t.Fatal(err)
		}
	}
	alive := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := alive()
	s, report := trace.NewStore(false), &trace.Report{}
	reader := trace.Reader{Store: s, Report: report}
	for rank := range files {
		if err := reader.Read(t.Context(), "x", bytes.NewReader(files[rank].Bytes())); err != nil {
			t.Fatal(err)
		}
	}
	s.Resolve(report)
	if got := float64(alive()-before) / float64(s.Len()); got > 90 {
		t.Errorf("%.1f bytes a span after reading %d", got, s.Len())
	}
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	names, steps := Names(s, nil), Steps(s, nil)
	runtime.ReadMemStats(&m1)
	if got := float64(m1.TotalAlloc-m0.TotalAlloc) / float64(s.Len()); got > 40 {
		t.Errorf("%.1f bytes a span for the summary", got)
	}
	runtime.KeepAlive(files)
	if len(names) != 6 || len(steps) != r.Steps {
		t.Errorf("%d names, %d steps", len(names), len(steps))
	}
}
