// Package frozen has an immutable set of strings with a perfect hash, for a
// question that is asked very often of a set that changes hardly ever.
//
// The length of a name and three of its bytes choose a slot, and one string
// comparison confirms. Which bytes, and how they are mixed, is found when the
// set is built, so that no two names of the set share a slot. Names that three
// bytes cannot tell apart go into a map; that set is slower, not wrong.
package frozen

import (
	"math/bits"
	"slices"
)

// Set is an immutable set of strings. A nil Set is the empty set. All methods
// are safe for concurrent use, take no lock, and Has allocates nothing.
type Set struct {
	table []string // a power of two long; a free slot repeats a name of another slot

	// A name's key is its length and its bytes at these three positions; a
	// position past the end means the last byte.
	p0, p1, p2 int
	mult       uint32
	shift      uint32

	whole    map[string]struct{} // instead of the table, when that cannot be built
	hasEmpty bool                // "" has no bytes to look at
	lengths  uint64              // bit n&63 is set when a name has length n
	names    []string            // sorted
}

// New returns the set of the given names. Duplicates collapse. Any string may
// be a name.
func New(names []string) *Set {
	s := &Set{names: slices.Clone(names)}
	slices.Sort(s.names)
	s.names = slices.Compact(s.names)
	for _, n := range s.names {
		s.lengths |= 1 << (len(n) & 63)
	}
	filled := s.names
	if len(filled) > 0 && filled[0] == "" {
		s.hasEmpty = true
		filled = filled[1:]
	}
	if len(filled) == 0 {
		// The one slot holds "", which no name that gets so far can equal.
		s.table = []string{""}
		s.shift = 31
		return s
	}
	if !s.choosePositions(filled) || !s.place(filled) {
		s.whole = make(map[string]struct{}, len(filled))
		for _, n := range filled {
			s.whole[n] = struct{}{}
		}
	}
	return s
}

// Has reports whether name is in the set.
func (s *Set) Has(name string) bool {
	if s == nil {
		return false
	}
	n := len(name) - 1
	if n < 0 {
		return s.hasEmpty
	}
	if s.whole != nil {
		_, ok := s.whole[name]
		return ok
	}
	key := uint32(n) | uint32(name[min(s.p0, n)])<<8 | uint32(name[min(s.p1, n)])<<16 | uint32(name[min(s.p2, n)])<<24
	return s.table[key*s.mult>>(s.shift&31)] == name
}

// MayHave reports whether a name of length n can be in the set. It is so small
// that it is compiled into the caller, where it spares most misses the probe.
func (s *Set) MayHave(n int) bool { return s != nil && s.lengths>>(n&63)&1 != 0 }

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

// key is the key of a name that is not empty. Has has the same expression in
// line.
func key(name string, p0, p1, p2 int) uint32 {
	n := len(name) - 1
	return uint32(n) | uint32(name[min(p0, n)])<<8 | uint32(name[min(p1, n)])<<16 | uint32(name[min(p2, n)])<<24
}

func (s *Set) slotByBytes(name string) uint32 {
	return key(name, s.p0, s.p1, s.p2) * s.mult >> (s.shift & 31)
}

// maxPosition bounds the search: names that agree on so many bytes go into a
// map.
const maxPosition = 64

// choosePositions finds three positions that give every name a key of its own,
// one after the other, each the one that tells most names apart.
func (s *Set) choosePositions(names []string) bool {
	longest := 0
	for _, n := range names {
		longest = max(longest, len(n))
	}
	positions := [3]int{}
	seen := make(map[uint32]struct{}, len(names))
	for i := range positions {
		best := -1
		for p := range min(longest, maxPosition) {
			try := positions
			for j := i; j < len(try); j++ {
				try[j] = p
			}
			clear(seen)
			for _, n := range names {
				seen[key(n, try[0], try[1], try[2])] = struct{}{}
			}
			if len(seen) > best {
				best = len(seen)
				for j := i; j < len(positions); j++ {
					positions[j] = p
				}
			}
		}
		if best == len(names) {
			s.p0, s.p1, s.p2 = positions[0], positions[1], positions[2]
			return true
		}
	}
	return false
}

// place fills the table so that every name has a slot of its own. It tries
// multipliers, and larger tables when those run out.
func (s *Set) place(names []string) bool {
	const (
		tries    = 200
		maxNames = 1024 // more would make the search long and the table large
		maxBits  = 16   // of slots
	)
	if len(names) > maxNames {
		return false
	}
	for size := bits.Len(uint(2*len(names) - 1)); size <= maxBits; size++ {
		table := make([]string, 1<<size)
		s.shift = uint32(32 - size)
		mult := uint32(0x9E3779B1) // 2^32 / golden ratio: a start, nothing more
	multipliers:
		for range tries {
			s.mult = mult | 1
			mult = mult*1664525 + 1013904223
			clear(table)
			for _, n := range names {
				i := s.slotByBytes(n)
				if table[i] != "" {
					continue multipliers
				}
				table[i] = n
			}
			s.table = table
			return true
		}
	}
	return false
}
