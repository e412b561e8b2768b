//go:build !amd64 || race

package flight

import "sync/atomic"

// publish stores a word after all that was stored before it.
func publish(word *atomic.Uint64, v uint64) { word.Store(v) }
