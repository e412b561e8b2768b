package gate

import (
	"math/bits"
	"slices"
	"unsafe"
)

// Set is an immutable set of strings. A nil Set is the empty set. All methods
// are safe for concurrent use, take no lock, and allocate nothing but what
// they return.
type Set struct {
	lengths [64]bool // true at n&63 when a name has length n
	mult    uint64
	mask    uint64         // of the offset of a slot in the table, in bytes
	base    unsafe.Pointer // the first slot of table
	table   []slot         // a power of two long, then those that are next of another
	texts   []*byte        // of the name in each slot
	bytes   unsafe.Pointer // the first of texts
	names   []string       // sorted
	self    Pointer        // to this set
}

// slot holds the words of a name. It has 32 bytes on every machine.
type slot struct {
	first, last uint64
	length      int // noLength in a free slot
	_           [slotSize - 16 - 2*unsafe.Sizeof(uintptr(0))]byte
	next        *slot // of another name with the same offset
}

const slotSize = 32

var _ [0]struct{} = [unsafe.Sizeof(slot{}) - slotSize]struct{}{}

const noLength = -1

// New returns the set of the given names. Duplicates collapse. Any string may
// be a name.
func New(names []string) *Set {
	s := &Set{names: slices.Clone(names)}
	slices.Sort(s.names)
	s.names = slices.Compact(s.names)
	for _, n := range s.names {
		s.lengths[len(n)&63] = true
	}
	s.place()
	s.self.Store(s)
	s.base, s.bytes = unsafe.Pointer(&s.table[0]), unsafe.Pointer(&s.texts[0])
	return s
}

// Has reports whether name is in the set.
func (s *Set) Has(name string) bool {
	if s == nil {
		return false
	}
	return s.self.Has(name)
}

// MayHave reports whether a name of length n can be in the set, which must not be
// nil. It is so small that it is compiled into the caller.
func (s *Set) MayHave(n int) bool { return s.lengths[n&63] }

// Len returns the number of names.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.names)
}

// Names returns the names, sorted, in a slice that the caller owns.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.names)
}

// highBits leaves the highest bits of a product, on which all bits of the words
// have an effect: maxBits of them for the slot, above those of a slot's size.
const (
	maxBits  = 14
	highBits = 64 - maxBits - 5 // 1<<5 is slotSize
)

// offset mixes by adding, since two words of a name with eight bytes are equal
// and would cancel each other out.
func offset(first, last, mult, mask uint64) uintptr {
	return uintptr((first + last) * mult >> highBits & mask)
}

// words returns what Pointer.Has computes of a name.
func words(name string) (first, last uint64) {
	word := func(s string, n int) (w uint64) {
		for i := range n {
			w |= uint64(s[i]) << (8 * i)
		}
		return w
	}
	n := len(name)
	switch {
	case n >= 8:
		return word(name, 8), word(name[n-8:], 8)
	case n >= 4:
		return word(name, 4), word(name[n-4:], 4)
	case n > 0:
		return uint64(name[0]) | uint64(name[n/2])<<8, uint64(name[n-1])
	}
	return 0, 0
}

// place fills the table so that names with different words have slots of their
// own. It tries factors, larger tables when those run out, and lets names share
// a slot when a larger table would be unreasonable.
func (s *Set) place() {
	const tries = 100
	size := min(bits.Len(uint(2*len(s.names))), maxBits)
	for most := min(size+5, maxBits); ; size++ {
		slots := 1 << size
		s.mask = uint64(slots-1) * slotSize
		mult := uint64(0x9E3779B97F4A7C15) // 2^64 / golden ratio: a start, nothing more
		for range tries {
			s.mult = mult | 1
			mult = mult*6364136223846793005 + 1442695040888963407
			if s.fill(slots, size == most) {
				return
			}
		}
	}
}

// fill reports whether every name has a slot, which only names whose words add
// up to the same share, unless any may.
func (s *Set) fill(slots int, any bool) bool {
	// The capacity is enough for all names, so that no slot moves.
	s.table = make([]slot, slots, slots+len(s.names))
	s.texts = make([]*byte, slots, slots+len(s.names))
	for i := range s.table {
		s.table[i].length = noLength
	}
	for _, name := range s.names {
		first, last := words(name)
		e := slot{first: first, last: last, length: len(name)}
		i := offset(first, last, s.mult, s.mask) / slotSize
		switch at := &s.table[i]; {
		case at.length == noLength:
			*at, s.texts[i] = e, unsafe.StringData(name)
		case any || at.first+at.last == first+last:
			e.next = at.next
			s.table, s.texts = append(s.table, e), append(s.texts, unsafe.StringData(name))
			at.next = &s.table[len(s.table)-1]
		default:
			return false
		}
	}
	return true
}

// text returns the name in a slot.
func (s *Set) text(e *slot) unsafe.Pointer {
	i := (uintptr(unsafe.Pointer(e)) - uintptr(s.base)) / slotSize
	return *(*unsafe.Pointer)(unsafe.Add(s.bytes, i*unsafe.Sizeof(uintptr(0))))
}
