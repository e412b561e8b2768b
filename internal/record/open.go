package record

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	shardCount = 64
	shardBits  = 6
)

// place is where a span is in the table: its shard in the lowest bits, and above them
// one more than its index there.
type place uint32

const (
	untracked place = 0
	maxOpen         = 1<<(32-shardBits) - 2
)

// keptOpen is the room for spans that an empty shard keeps.
const keptOpen = 1024

func (p place) shard() int { return int(p & (shardCount - 1)) }
func (p place) index() int { return int(p>>shardBits) - 1 }

func placeOf(shard, index int) place { return place(index+1)<<shardBits | place(shard) }

// openTable knows the spans that have started and not ended: a list a shard, in which
// each span knows its place.
//
// It holds its spans strongly, on purpose: abandoned spans are what it is for.
// It has a limit on their number instead of an expiry, because an expiry would
// cut the longest spans of a training run short.
type openTable struct {
	shards [shardCount]shard

	limit  int
	chunk  int64        // what a shard takes of the limit at a time
	spare  atomic.Int64 // what no shard has taken
	onFull func(limit int)
	full   atomic.Bool

	closing atomic.Bool
	closed  chan struct{} // all that CloseAll will do is done
}

// shard is locked by the goroutines that started its spans, mostly.
type shard struct {
	mu             sync.Mutex
	closed         bool
	open           []*Span
	allowed        int // of open
	started, ended uint64
	lookups        atomic.Int32 // of parents, under way
	_              [64]byte     // neighbours are locked by other cores
}

func (t *openTable) init(limit int, onFull func(int)) {
	if limit <= 0 {
		limit = DefaultOpenLimit
	}
	limit = min(limit, maxOpen)
	t.limit, t.onFull, t.closed = limit, onFull, make(chan struct{})
	t.chunk = int64(min(max(limit/4096, 1), 64))
	t.spare.Store(int64(limit))
}

// here returns a shard that other goroutines are unlikely to use now. The address
// of the stack tells goroutines apart; any shard would be right.
func (t *openTable) here() *shard { return &t.shards[hereIndex()] }

func hereIndex() int {
	var onStack byte
	page := uint32(uintptr(unsafe.Pointer(&onStack)) >> 12)
	return int(page * 0x9e3779b9 >> (32 - shardBits))
}

// enter tracks a span, unless too many are.
func (t *openTable) enter(s *Span) {
	index := hereIndex()
	sh := &t.shards[index]
	sh.mu.Lock()
	sh.started++
	ok := sh.closed || len(sh.open) < sh.allowed || t.allow(sh)
	if ok && !sh.closed {
		s.place = placeOf(index, len(sh.open))
		sh.open = append(sh.open, s)
	}
	sh.mu.Unlock()
	if !ok && !t.full.Load() && t.full.CompareAndSwap(false, true) && t.onFull != nil {
		t.onFull(t.limit)
	}
}

// allow lets the shard have more of the limit. sh.mu is held.
func (t *openTable) allow(sh *shard) bool {
	if t.spare.Add(-t.chunk) >= 0 {
		sh.allowed += int(t.chunk)
		return true
	}
	t.spare.Add(t.chunk)
	return false
}

// leave forgets a span.
func (t *openTable) leave(s *Span) {
	// Without the lock of the shard the index may change, but not the shard.
	at := place(atomic.LoadUint32((*uint32)(&s.place)))
	if at == untracked {
		sh := t.here()
		sh.mu.Lock()
		sh.ended++
		sh.mu.Unlock()
		return
	}
	sh := &t.shards[at.shard()]
	sh.mu.Lock()
	sh.ended++
	end := len(sh.open) - 1
	if i := s.place.index(); i != end {
		last := sh.open[end]
		sh.open[i] = last
		atomic.StoreUint32((*uint32)(&last.place), uint32(placeOf(at.shard(), i)))
	}
	sh.open[end] = nil
	sh.open = sh.open[:end]
	if end == 0 && cap(sh.open) > keptOpen {
		sh.open = nil
	}
	if sh.allowed-end >= 2*int(t.chunk) {
		sh.allowed -= int(t.chunk)
		t.spare.Add(t.chunk)
	}
	sh.mu.Unlock()
}

// all returns the spans that are tracked, and, if told to, ends tracking.
func (t *openTable) all(last bool) []*Span {
	var spans []*Span
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		sh.closed = sh.closed || last
		spans = append(spans, sh.open...)
		sh.mu.Unlock()
	}
	return spans
}

// Open returns the number of spans that are tracked now.
func (p *Provider) Open() int {
	return int(p.open.sum(func(sh *shard) uint64 { return uint64(len(sh.open)) }))
}

// Started returns the number of recorded spans started, tracked or not.
func (p *Provider) Started() uint64 { return p.open.sum(func(sh *shard) uint64 { return sh.started }) }

// Ended returns the number of recorded spans ended, tracked or not.
func (p *Provider) Ended() uint64 { return p.open.sum(func(sh *shard) uint64 { return sh.ended }) }

func (t *openTable) sum(of func(*shard) uint64) (n uint64) {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		n += of(sh)
		sh.mu.Unlock()
	}
	return n
}

// OpenNow returns the spans that are open and tracked, in no order. Those that end
// meanwhile are still among them.
func (p *Provider) OpenNow() []*Span { return p.open.all(false) }
