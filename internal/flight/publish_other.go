//go:build !amd64 && !race

package flight

import "sync/atomic"

// publish stores a word of the file after all that was stored before it.
func publish(word *atomic.Uint64, v uint64) { word.Store(v) }

// publishHalf is publish for half a word.
func publishHalf(half *atomic.Uint32, v uint32) { half.Store(v) }

// release is publish for a word that is not in the file.
func release(word *atomic.Uint64, v uint64) { word.Store(v) }
