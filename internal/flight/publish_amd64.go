//go:build amd64 && !race

package flight

import (
	"sync/atomic"
	"unsafe"
)

// publish stores a word of the file after all that was stored before it. This architecture keeps
// the order of stores by itself, so a plain store is enough, at a fraction of the
// price of an atomic one, which waits until those before it are in the cache. The call
// keeps the compiler from moving stores across it.
//
//go:noinline
func publish(word *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(word)) = v }

// publishHalf is publish for half a word.
//
//go:noinline
func publishHalf(half *atomic.Uint32, v uint32) { *(*uint32)(unsafe.Pointer(half)) = v }

// release is publish for a word that is not in the file.
func release(word *atomic.Uint64, v uint64) { publish(word, v) }
