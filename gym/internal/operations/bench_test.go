package operations

import (
	"testing"

	"golang.org/x/sync/semaphore"
)

// BenchmarkAcquire compares an uncontended semaphore to the one below it.
func BenchmarkAcquire(b *testing.B) {
	m := newMeter(b)
	b.Run("x/sync", func(b *testing.B) {
		s := semaphore.NewWeighted(1)
		for b.Loop() {
			_ = s.Acquire(background, 1)
			s.Release(1)
		}
	})
	for name, s := range map[string]*Semaphore{
		"no limit": nil,
		"off":      NewSemaphore(1, "x", m.waits(b), func() bool { return false }),
		"on":       NewSemaphore(1, "x", m.waits(b), nil),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Acquire(background)
				s.Release()
			}
		})
	}
}

func BenchmarkDo(b *testing.B) {
	m := newMeter(b)
	run := func(*Op) error { return nil }
	for name, metrics := range map[string]*Metrics{"off": nil, "on": m.metrics(b)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = metrics.Do(background, nil, Verify, Inline, run)
			}
		})
	}
}
