package queue

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Queue hands what is put in to an exporter in batches. Make one with [New]. Every
// method is safe for concurrent use.
type Queue[T any] struct {
	hot[T]

	export  func(context.Context, []T) error
	cfg     Config
	early   int // items waiting that wake the worker at once
	yieldAt int // and that make a producer let it run
	end     *Ending
	wake    chan struct{} // to the worker
	lossy   chan struct{} // to the one that calls OnLoss
	drained chan struct{} // closed when the worker has nothing more to do

	delay     *time.Timer // the worker's own
	exporting atomic.Bool // the worker is inside the exporter

	// From here on guarded by mu.

	chunks[T]
	blocked int // producers that wait for room, one item each

	// Why the worker should take a batch that is not full.
	due     bool
	dueAt   time.Time // zero: nothing waits
	flushTo uint64    // a position of the queue

	// The time that producers may wait in a full queue.
	room   sync.Cond
	budget *time.Timer
	timing bool // the budget's timer runs
	until  time.Time
	spent  bool

	counts
	inflight int   // items with the exporter
	cause    error // of the last failed export

	reported    counts // as of the last report
	flushers    []flusher
	lossPending bool
	stopping    bool // Shutdown was called
	finished    bool // the numbers are final
}

// New starts a queue. It must be shut down. export must not keep the slice; it may
// change what is in it.
func New[T any](cfg Config, export func(ctx context.Context, items []T) error) *Queue[T] {
	cfg = cfg.normal()
	q := &Queue[T]{
		export:  export,
		cfg:     cfg,
		early:   min(cfg.BatchSize, max(1, cfg.QueueSize/2)),
		yieldAt: min(2*cfg.BatchSize, cfg.QueueSize),
		wake:    make(chan struct{}, 1),
		lossy:   make(chan struct{}, 1),
		drained: make(chan struct{}),
		delay:   time.NewTimer(cfg.Delay),
	}
	q.init(cfg.QueueSize, cfg.BatchSize)
	q.end = NewEnding(q.verdict, nil)
	q.room.L = &q.mu
	q.budget = time.AfterFunc(time.Hour, q.spend)
	q.budget.Stop()
	go q.work()
	if cfg.OnLoss != nil {
		go q.tell()
	}
	return q
}

// Put queues an item.
func (q *Queue[T]) Put(item T) {
	q.lock()
	if q.waiting >= q.limit && !q.waitForRoom() {
		q.mu.Unlock()
		// Producers that make more than can be exported leave the worker no core, and
		// without it there will never be room.
		runtime.Gosched()
		return
	}
	q.add(item)
	if q.waiting < q.wakeAt {
		q.mu.Unlock()
		return
	}
	if !q.awake {
		q.awake, q.wakeAt = true, q.yieldAt
		q.mu.Unlock()
		q.signal()
		return
	}
	q.mu.Unlock()
	if !q.exporting.Load() {
		// The worker has something to do and no core to do it on. Producers that do
		// not let it have one would fill the queue within their turns of 10 ms, and
		// memory with it; then they would have to wait.
		runtime.Gosched()
	}
}

// Turns of an empty loop, about a third of a nanosecond each.
const firstPause, lastPause = 1000, 8000

// lock is q.mu.Lock for the hot path. What the lock protects takes some tens of
// nanoseconds, less than it takes to move its memory to another core. So who finds
// it taken stays away for a few microseconds, in which the other core can add a
// hundred items undisturbed, and then lets other goroutines run. To queue up instead
// puts the mutex into its fair mode, where each item is a switch of goroutines: 255 ns
// an item against 57, with 8 goroutines on 2 cores.
func (q *Queue[T]) lock() {
	for pause := firstPause; ; pause *= 2 {
		if q.mu.TryLock() {
			return
		}
		if pause > lastPause {
			break
		}
		for range pause {
		}
	}
	for range 64 {
		runtime.Gosched()
		if q.mu.TryLock() {
			return
		}
	}
	q.mu.Lock()
}

// waitForRoom reports whether the queue has room for an item, and otherwise counts
// it as dropped. q.mu is held, and released while waiting.
func (q *Queue[T]) waitForRoom() bool {
	if q.stopping {
		q.late++
		return false
	}
	q.blocked++
	var patience time.Time
	for q.waiting >= q.limit && !q.stopping {
		if !q.cfg.Block {
			if q.spent || q.cfg.MaxWait < 0 {
				break
			}
			now := time.Now()
			if patience.IsZero() {
				patience = now.Add(q.cfg.MaxWait)
			} else if !now.Before(patience) {
				break
			}
			if !q.timing {
				q.timing = true
				q.until = now.Add(q.cfg.MaxWait)
				q.budget.Reset(q.cfg.MaxWait)
			}
		}
		q.room.Wait()
	}
	q.blocked--
	if q.waiting < q.limit {
		return true
	}
	q.full++
	q.noteLoss()
	return false
}

// spend ends the wait for room.
func (q *Queue[T]) spend() {
	q.mu.Lock()
	defer q.mu.Unlock()
	// The timer of an earlier wait may have been too late to be stopped.
	if q.timing && !time.Now().Before(q.until) {
		q.timing, q.spent = false, true
		q.room.Broadcast()
	}
}

// madeRoom gives producers new time to wait, and lets go those that do. q.mu is held.
func (q *Queue[T]) madeRoom() {
	q.spent = false
	if q.timing {
		q.timing = false
		q.budget.Stop()
	}
	if q.blocked > 0 {
		q.room.Broadcast()
	}
}

func (q *Queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it has not yet seen the last one
	}
}
