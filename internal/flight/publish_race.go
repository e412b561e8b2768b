//go:build race

package flight

import (
	"sync/atomic"
	"unsafe"
)

// publish stores a word of the file, and without the race detector: that runs atomic
// stores on a stack of its own, and a fault there, in a file that is being let go of or
// was truncated, ends the process.
//
//go:norace
//go:noinline
func publish(word *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(word)) = v }

// publishHalf is publish for half a word.
//
//go:norace
//go:noinline
func publishHalf(half *atomic.Uint32, v uint32) { *(*uint32)(unsafe.Pointer(half)) = v }

// release is for a word that is not in the file, which the detector watches.
func release(word *atomic.Uint64, v uint64) { word.Store(v) }
