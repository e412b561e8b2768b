package sampler

import (
	"sync"
	"time"
)

// window reads a value at most once an interval and answers from memory in between. A failed read costs the caller
// nothing: the value before it stays, and the next call tries again.
type window[T any] struct {
	interval time.Duration
	now      func() time.Time
	read     func() (T, error)

	mu    sync.Mutex
	value T
	ok    bool
	at    time.Time
}

func newWindow[T any](interval time.Duration, read func() (T, error)) window[T] {
	return window[T]{interval: interval, now: time.Now, read: read}
}

// get returns the value, and whether there has ever been one.
func (w *window[T]) get() (T, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if w.ok && now.Sub(w.at) < w.interval {
		return w.value, true
	}
	if v, err := w.read(); err == nil {
		w.value, w.ok, w.at = v, true, now
	}
	return w.value, w.ok
}
