package gym

import (
	"log/slog"
	"sync"

	"github.com/nemo-lens/lens/gym/connpool"
	"github.com/nemo-lens/lens/gym/internal/observer"
	"github.com/nemo-lens/lens/gym/internal/operations"
	"github.com/nemo-lens/lens/gym/internal/sampler"
)

// shared is what a process makes once of its meter: two of one kind would
// report under one name.
type shared struct {
	counters   lazy[counters]
	pool       lazy[connpool.Metrics]
	operations lazy[operations.Metrics]
	waits      lazy[operations.Waits]
	inFlight   lazy[observer.InFlight]

	profiler, observer, gpu slot

	// Set before the telemetry is published, then only read.
	cpu    *sampler.CPU
	memory *sampler.HostMemory
}

// stop ends what runs in the background.
func (s *shared) stop() {
	s.profiler.stop(nil)
	s.observer.stop(nil)
	s.gpu.stop(nil)
}

// lazy makes something at its first use, and once.
type lazy[T any] struct {
	once sync.Once
	made *T
}

// get returns nil when it could not be made.
func (l *lazy[T]) get(build func() (*T, error)) *T {
	l.once.Do(func() {
		guarded(func() {
			v, err := build()
			if err != nil {
				slog.Debug(debugInstrumentsFailed, "error", err)
				return
			}
			l.made = v
		})
	})
	return l.made
}

// guarded keeps a fault of what measures from what is measured.
func guarded(f func()) {
	defer func() {
		if v := recover(); v != nil {
			slog.Debug(debugRecordingFailed, "panic", v)
		}
	}()
	f()
}

// background is a sampler with a goroutine.
type background interface {
	Stop()
	Unregister() error
}

// slot is the place in a process for one such sampler.
type slot struct {
	mu      sync.Mutex
	is      background
	running bool
}

// start puts what build has started in the slot, unless something runs there.
func (s *slot) start(build func() (background, error)) (b background, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return nil, ErrAlreadyRunning
	}
	if s.is != nil { // its last sample would be reported beside the new ones
		guarded(func() { _ = s.is.Unregister() })
		s.is = nil
	}
	err = errRefused
	guarded(func() { b, err = build() })
	if err != nil {
		return nil, err
	}
	s.is, s.running = b, true
	return b, nil
}

// stop ends what runs in the slot, if it is b or b is nil.
func (s *slot) stop(b background) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running && (b == nil || b == s.is) {
		s.running = false
		guarded(s.is.Stop)
	}
}
