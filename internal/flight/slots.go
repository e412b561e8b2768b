package flight

import "sync/atomic"

// shard hands out its slots: a ring of those that are not open, longest ended first.
// It is not in the file, and it takes no lock: a store into the file that faults leaves
// nothing locked, and each of take and giveBack is one locked instruction.
type shard struct {
	taken, given atomic.Uint64 // positions; all slots are given at the beginning
	cells        []cell
	_            [64]byte // neighbours are used by other cores
}

// cell has a position, shifted, and below it the slot that was given there.
type cell = atomic.Uint64

const cellShift = 16

func (sh *shard) init(slots int) {
	size := 1
	for size < slots {
		size *= 2
	}
	sh.cells = make([]cell, size)
	for i := range slots {
		sh.cells[i].Store(uint64(i)<<cellShift | uint64(i))
	}
	sh.given.Store(uint64(slots))
}

// take gives a slot to a span that starts: of the shard that the hint names, or of
// the next that has one. It reports false when all that open spans may have are
// taken.
func (r *Recorder) take(hint uint32) (index uint32, ok bool) {
	reserve := uint64(r.perShard+3) / 4
	for i := range uint32(shardCount) {
		shard := (hint + i) % shardCount
		sh := &r.shards[shard]
		for {
			at := sh.taken.Load()
			if sh.given.Load()-at <= reserve {
				break
			}
			c := sh.cells[at&uint64(len(sh.cells)-1)].Load()
			if c>>cellShift < at {
				break // it is being given back at this moment
			}
			if c>>cellShift == at && sh.taken.CompareAndSwap(at, at+1) {
				return shard*r.perShard + uint32(c&(1<<cellShift-1)), true
			}
		}
	}
	return 0, false
}

// giveBack lets the slot be used again, after all that were given back before.
func (r *Recorder) giveBack(index uint32) {
	sh := &r.shards[index/r.perShard]
	at := sh.given.Add(1) - 1
	release(&sh.cells[at&uint64(len(sh.cells)-1)], at<<cellShift|uint64(index%r.perShard))
}
