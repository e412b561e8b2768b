package trace

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
)

var run8 = tracegen.Run{ID: "a", Ranks: 8, Steps: 200, Micro: 4, SlowRank: 3, Seed: 1, Start: 1_700_000_000e9, Batch: 512}

func BenchmarkReadOTLP(b *testing.B) {
	var file bytes.Buffer
	if err := run8.WriteRank(&file, 1); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	spans := int64(0)
	for b.Loop() {
		report := Report{}
		r := Reader{Store: NewStore(false), Report: &report}
		if err := r.Read(context.Background(), "x", bytes.NewReader(file.Bytes())); err != nil {
			b.Fatal(err)
		}
		spans += report.Spans
	}
	b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
}

func BenchmarkReadConsole(b *testing.B) {
	file, err := os.ReadFile("testdata/console.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file)))
	spans := int64(0)
	for b.Loop() {
		report := Report{}
		r := Reader{Store: NewStore(false), Report: &report}
		if err := r.Read(context.Background(), "x", bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
		spans += report.Spans
	}
	b.ReportMetric(float64(spans)/b.Elapsed().Seconds(), "spans/s")
}
