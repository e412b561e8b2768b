package openspans

import (
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const (
	shardCount = 64
	shardShift = 64 - 6 // the hash's high bits choose the shard, the low ones the slot

	firstSlots = 8 // of a shard, once it holds something
)

// shard is a hash table with linear probing. Removing moves later entries back
// instead of leaving marks, so that a table through which spans only pass never
// has to be rebuilt: a map of the language would allocate now and then.
type shard struct {
	mu             sync.Mutex
	closed         bool
	used, limit    int
	slots          []slot // a power of two long, at most 3/4 used; nil before the first span
	started, ended uint64
	_              [48]byte // to two cache lines: neighbours are locked by other cores
}

type slot struct {
	id    uint64
	span  sdktrace.ReadWriteSpan // nil: free. An id of 0 is possible with a program's own generator
	group string
}

func (s *shard) init(limit int) { s.limit = limit }

// insert reports false when the shard is at its limit. Equal ids are kept apart.
func (s *shard) insert(id, hash uint64, span sdktrace.ReadWriteSpan) bool {
	if s.used >= len(s.slots)/4*3 {
		if s.used >= s.limit {
			return false
		}
		s.grow()
	} else if s.used >= s.limit {
		return false
	}
	mask := uint64(len(s.slots) - 1)
	i := hash & mask
	for s.slots[i].span != nil {
		i = (i + 1) & mask
	}
	s.slots[i] = slot{id: id, span: span}
	s.used++
	return true
}

func (s *shard) grow() {
	old := s.slots
	s.slots = make([]slot, max(firstSlots, 2*len(old)))
	mask := uint64(len(s.slots) - 1)
	for _, e := range old {
		if e.span == nil {
			continue
		}
		i := hash(e.id) & mask
		for s.slots[i].span != nil {
			i = (i + 1) & mask
		}
		s.slots[i] = e
	}
}

// find returns the slot of id or -1.
func (s *shard) find(id, hash uint64) int {
	if s.used == 0 {
		return -1
	}
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; s.slots[i].span != nil; i = (i + 1) & mask {
		if s.slots[i].id == id {
			return int(i)
		}
	}
	return -1
}

// remove forgets the span with this id in this trace.
func (s *shard) remove(id, h uint64, in trace.TraceID) {
	i := s.find(id, h)
	if i < 0 {
		return
	}
	mask := uint64(len(s.slots) - 1)
	at := uint64(i)
	for s.slots[at].id != id || s.slots[at].span.SpanContext().TraceID() != in {
		at = (at + 1) & mask
		if s.slots[at].span == nil {
			return // the id is another trace's
		}
	}
	// Each later entry of the run moves into the gap unless that is before the
	// slot where looking for it begins.
	gap := at
	for next := (gap + 1) & mask; s.slots[next].span != nil; next = (next + 1) & mask {
		home := hash(s.slots[next].id) & mask
		if (next-home)&mask >= (next-gap)&mask {
			s.slots[gap] = s.slots[next]
			gap = next
		}
	}
	s.slots[gap] = slot{}
	s.used--
}

// appendTo copies what is open.
func (s *shard) appendTo(all []slot) []slot {
	for i := range s.slots {
		if s.slots[i].span != nil {
			all = append(all, s.slots[i])
		}
	}
	return all
}
