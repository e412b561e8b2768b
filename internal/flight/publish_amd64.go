//go:build amd64 && !race

package flight

import (
	"sync/atomic"
	"unsafe"
)

// publish stores a word after all that was stored before it. This architecture keeps
// the order of stores by itself, so a plain store is enough, at a fraction of the
// price of an atomic one, which waits until those before it are in the cache. The call
// keeps the compiler from moving stores across it.
//
//go:noinline
func publish(word *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(word)) = v }
