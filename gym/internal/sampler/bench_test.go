package sampler

import (
	"context"
	"testing"
	"time"
)

// BenchmarkSample measures what a sample costs. %core is the time of one real read over the interval between two, 1 s: the
// share of a core a process spends on reads, however often it asks. "cached" is what asking costs each time. For the
// graphics processors it is the sampler's own work with the answer for eight devices, over 10 s; starting nvidia-smi and
// what that does in its own process come on top, and depend on the driver.
func BenchmarkSample(b *testing.B) {
	m := newMeter(b)
	cpu, err := NewCPU(m.provider.Meter("bench"), time.Hour)
	if err != nil {
		b.Skip(err)
	}
	share := func(b *testing.B, interval time.Duration) {
		b.ReportMetric(100*float64(b.Elapsed())/float64(b.N)/float64(interval), "%core")
	}
	b.Run("cpu/read", func(b *testing.B) {
		for b.Loop() {
			_, _ = cpu.percent()
		}
		share(b, DefaultInterval)
	})
	b.Run("cpu/cached", func(b *testing.B) {
		cpu.Sample(background)
		b.ReportAllocs()
		for b.Loop() {
			cpu.Sample(background)
		}
	})
	b.Run("cpu/off", func(b *testing.B) {
		var off *CPU
		b.ReportAllocs()
		for b.Loop() {
			off.Annotate(background)
		}
	})
	b.Run("memory/read", func(b *testing.B) {
		mem, err := NewHostMemory(m.provider.Meter("bench"), time.Hour, "")
		if err != nil {
			b.Skip(err)
		}
		for b.Loop() {
			_, _ = mem.window.read()
		}
		share(b, DefaultInterval)
	})
	b.Run("gpu/parse", func(b *testing.B) {
		answer := []byte("")
		for range 8 {
			answer = append(answer, "0, GPU-11111111-2222-3333-4444-555555555555, 50, 40960, 81920\n"...)
		}
		g := newGPU(b, m, GPUConfig{Run: func(context.Context) ([]byte, error) { return answer, nil }})
		for b.Loop() {
			g.sample(background)
		}
		share(b, DefaultGPUInterval)
	})
}
