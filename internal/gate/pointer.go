package gate

import (
	"sync/atomic"
	"unsafe"
)

// Pointer publishes a Set to readers that take no lock. Use NewPointer; all
// methods are safe for concurrent use, and a reader sees the set before a
// Store or the one after it.
type Pointer struct {
	// A *Set. atomic.Pointer would put the gate, which has to be compiled into
	// its caller, beyond what the compiler inlines.
	set unsafe.Pointer
}

// NewPointer returns a Pointer to s, which must not be nil.
func NewPointer(s *Set) Pointer { return Pointer{unsafe.Pointer(s)} }

// Load returns the set.
func (p *Pointer) Load() *Set { return (*Set)(atomic.LoadPointer(&p.set)) }

// Store publishes s, which must not be nil.
func (p *Pointer) Store(s *Set) { atomic.StorePointer(&p.set, unsafe.Pointer(s)) }

// MayHave reports whether a name of length n can be in the set. It is so small
// that it is compiled into the caller, where it spares most misses the call of
// Has.
func (p *Pointer) MayHave(n int) bool { return (*Set)(atomic.LoadPointer(&p.set)).lengths[n&63] }

// Has reports whether name is in the set. It is one function with no call in
// it, not even one of a bounds check that fails: a frame for them would cost a
// third of the time.
func (p *Pointer) Has(name string) bool {
	s := (*Set)(atomic.LoadPointer(&p.set))
	// As in words.
	var first, last uint64
	n := len(name)
	text := unsafe.Pointer(unsafe.StringData(name))
	switch {
	case n >= 8:
		first, last = load64(text, 0), load64(text, n-8)
	case n >= 4:
		first, last = load32(text, 0), load32(text, n-4)
	case n > 0:
		first, last = load8(text, 0)|load8(text, n/2)<<8, load8(text, n-1)
	}
	// The mask keeps the offset within the table.
	e := (*slot)(unsafe.Add(s.base, offset(first, last, s.mult, s.mask)))
	for {
		if e.first == first && e.last == last && e.length == n {
			if n <= 16 {
				return true
			}
			// A longer name has more between its words.
			i, other := 8, s.text(e)
			for i < n-8 && load64(text, i) == load64(other, i) {
				i += 8
			}
			if i >= n-8 {
				return true
			}
		}
		if e.next == nil {
			return false
		}
		e = e.next
	}
}

// load64, load32 and load8 read bytes, which the compiler makes one load of where the
// machine allows it.
func load64(p unsafe.Pointer, at int) uint64 {
	b := (*[8]byte)(unsafe.Add(p, at))
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

func load32(p unsafe.Pointer, at int) uint64 {
	b := (*[4]byte)(unsafe.Add(p, at))
	return uint64(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

func load8(p unsafe.Pointer, at int) uint64 { return uint64(*(*byte)(unsafe.Add(p, at))) }
