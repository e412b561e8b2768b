package flight

// take gives a slot to a span that starts: of the shard that the hint names, or of
// the next that has one. It reports false when all that open spans may have are
// taken.
func (r *Recorder) take(hint uint32) (index uint32, ok bool) {
	reserve := int(r.perShard+3) / 4
	for i := range uint32(shardCount) {
		shard := (hint + i) % shardCount
		sh := &r.shards[shard]
		sh.mu.Lock()
		if sh.waiting > reserve {
			index = shard*r.perShard + uint32(sh.free[sh.head])
			if sh.head++; sh.head == len(sh.free) {
				sh.head = 0
			}
			sh.waiting--
			sh.started++
			sh.mu.Unlock()
			return index, true
		}
		sh.mu.Unlock()
	}
	return 0, false
}

// giveBack lets the slot be used again, after all that were given back before.
func (r *Recorder) giveBack(index uint32) {
	sh := &r.shards[index/r.perShard]
	sh.mu.Lock()
	at := sh.head + sh.waiting
	if at >= len(sh.free) {
		at -= len(sh.free)
	}
	sh.free[at] = uint16(index % r.perShard)
	sh.waiting++
	sh.ended++
	sh.mu.Unlock()
}
