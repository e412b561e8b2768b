package record

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	shardCount = 64
	shardBits  = 6
	untracked  = 255 // the shard of a span that is in no list
)

// openTable knows the spans that have started and not ended. It is a list a
// shard, through the spans themselves.
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
	first          *Span
	used, allowed  int64
	started, ended uint64
	lookups        atomic.Int32 // of parents, under way
	_              [64]byte     // neighbours are locked by other cores
}

func (t *openTable) init(limit int, onFull func(int)) {
	if limit <= 0 {
		limit = DefaultOpenLimit
	}
	t.limit, t.onFull, t.closed = limit, onFull, make(chan struct{})
	t.chunk = int64(min(max(limit/4096, 1), 64))
	t.spare.Store(int64(limit))
}

// here returns a shard that other goroutines are unlikely to use now. The address
// of the stack tells goroutines apart; any shard would be right.
func (t *openTable) here() *shard { return &t.shards[hereIndex()] }

func hereIndex() uint8 {
	var onStack byte
	page := uint32(uintptr(unsafe.Pointer(&onStack)) >> 12)
	return uint8(page * 0x9e3779b9 >> (32 - shardBits))
}

// enter tracks a span, unless too many are.
func (t *openTable) enter(s *Span) {
	index := hereIndex()
	sh := &t.shards[index]
	s.shard = untracked
	sh.mu.Lock()
	sh.started++
	ok := sh.closed || sh.used < sh.allowed || t.allow(sh)
	if ok && !sh.closed {
		sh.used++
		s.shard = index
		s.next = sh.first
		if s.next != nil {
			s.next.previous = s
		}
		sh.first = s
	}
	sh.mu.Unlock()
	if !ok && !t.full.Load() && t.full.CompareAndSwap(false, true) && t.onFull != nil {
		t.onFull(t.limit)
	}
}

// allow lets the shard have more of the limit. sh.mu is held.
func (t *openTable) allow(sh *shard) bool {
	if t.spare.Add(-t.chunk) >= 0 {
		sh.allowed += t.chunk
		return true
	}
	t.spare.Add(t.chunk)
	return false
}

// leave forgets a span.
func (t *openTable) leave(s *Span) {
	index := s.shard
	if index == untracked {
		sh := t.here()
		sh.mu.Lock()
		sh.ended++
		sh.mu.Unlock()
		return
	}
	sh := &t.shards[index]
	sh.mu.Lock()
	sh.ended++
	if s.previous != nil {
		s.previous.next = s.next
	} else {
		sh.first = s.next
	}
	if s.next != nil {
		s.next.previous = s.previous
	}
	sh.used--
	if sh.allowed-sh.used >= 2*t.chunk {
		sh.allowed -= t.chunk
		t.spare.Add(t.chunk)
	}
	// An ended span that waits in a queue keeps no other alive.
	s.previous, s.next = nil, nil
	sh.mu.Unlock()
}

// all returns the spans that are tracked, and, if told to, ends tracking.
func (t *openTable) all(last bool) []*Span {
	var spans []*Span
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		sh.closed = sh.closed || last
		for s := sh.first; s != nil; s = s.next {
			spans = append(spans, s)
		}
		sh.mu.Unlock()
	}
	return spans
}

// Open returns the number of spans that are tracked now.
func (p *Provider) Open() int {
	return int(p.open.sum(func(sh *shard) uint64 { return uint64(sh.used) }))
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
