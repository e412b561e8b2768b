package logpipe

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/ending"
	"github.com/nemo-lens/lens/internal/errlog"
	"github.com/nemo-lens/lens/internal/logpipe/reentry"
)

// queue is a processor that exports in batches, from one goroutine.
type queue struct {
	exp      sdklog.Exporter
	cfg      Config
	log      *errlog.Log
	endpoint string
	end      *ending.Shared
	early    int           // records waiting that wake the worker at once
	wake     chan struct{} // to the worker
	lossy    chan struct{} // to the one that reports losses
	drained  chan struct{} // closed when the worker has nothing more to do

	suppressed atomic.Uint64

	mu      sync.Mutex
	head    *chunk // oldest first; nil when nothing waits
	tail    *chunk
	spares  []*chunk // empty, for the next batches
	waiting int
	taken   uint64 // records ever taken out
	limit   int    // of waiting; 0 when nothing is accepted any more
	blocked int    // producers that wait for room, one record each
	flushTo uint64 // a position up to which nothing may wait for others

	// The time that producers may wait in a full queue.
	room   sync.Cond
	budget *time.Timer
	timing bool // the budget's timer runs
	until  time.Time
	spent  bool

	counts
	inflight    int   // records with the exporter
	cause       error // of the last failed export
	reported    counts
	flushers    []flusher
	lossPending bool
	stopping    bool
	finished    bool // the numbers are final
}

// chunk holds the records of one batch.
type chunk struct {
	records []sdklog.Record
	next    *chunk
}

var _ sdklog.Processor = (*queue)(nil)

func newQueue(exp sdklog.Exporter, cfg Config, log *errlog.Log, endpoint string, end *ending.Shared) *queue {
	cfg = cfg.normal()
	q := &queue{
		exp: exp, cfg: cfg, log: log, endpoint: endpoint, end: end,
		early:   min(cfg.BatchSize, max(1, cfg.QueueSize/2)),
		wake:    make(chan struct{}, 1),
		lossy:   make(chan struct{}, 1),
		drained: make(chan struct{}),
		limit:   cfg.QueueSize,
	}
	q.room.L = &q.mu
	q.budget = time.AfterFunc(time.Hour, q.spend)
	q.budget.Stop()
	go q.work()
	go q.tell()
	return q
}

// Enabled implements sdklog.Processor.
func (q *queue) Enabled(ctx context.Context, p sdklog.EnabledParameters) bool {
	return !reentry.Marked(ctx) && !reentry.Plumbing(p.InstrumentationScope.Name)
}

// OnEmit queues a copy of the record. It implements sdklog.Processor.
func (q *queue) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if reentry.Marked(ctx) || reentry.Plumbing(r.InstrumentationScope().Name) || reentry.InDo() {
		q.suppressed.Add(1)
		return nil
	}
	rec := r.Clone()
	q.mu.Lock()
	if q.waiting >= q.limit && !q.waitForRoom() {
		q.mu.Unlock()
		return nil
	}
	q.add(rec)
	rouse := q.waiting == 1 || q.waiting >= q.early
	q.mu.Unlock()
	if rouse {
		q.signal()
	}
	return nil
}

// add puts a record into the newest chunk. q.mu is held here and below.
func (q *queue) add(rec sdklog.Record) {
	if q.tail == nil || len(q.tail.records) >= q.cfg.BatchSize {
		c := q.chunk()
		if q.tail == nil {
			q.head = c
		} else {
			q.tail.next = c
		}
		q.tail = c
	}
	q.tail.records = append(q.tail.records, rec)
	q.waiting++
}

// keepChunks bounds the empty chunks that are kept, at some 300 KiB each.
const keepChunks = 4

func (q *queue) chunk() *chunk {
	if n := len(q.spares); n > 0 {
		c := q.spares[n-1]
		q.spares = q.spares[:n-1]
		return c
	}
	c := &chunk{}
	if q.waiting > 0 { // the batch before is full, so this one may become it too
		c.records = make([]sdklog.Record, 0, q.cfg.BatchSize)
	}
	return c
}

// pop takes out the oldest chunk.
func (q *queue) pop() *chunk {
	c := q.head
	if q.head = c.next; q.head == nil {
		q.tail = nil
	}
	c.next = nil
	q.waiting -= len(c.records)
	q.taken += uint64(len(c.records))
	return c
}

// discard forgets everything that waits and returns how much that was.
func (q *queue) discard() int {
	n := q.waiting
	q.taken += uint64(n)
	q.waiting, q.head, q.tail, q.spares = 0, nil, nil, nil
	return n
}

// accepted is the number of records ever added.
func (q *queue) accepted() uint64 { return q.taken + uint64(q.waiting) }

// waitForRoom reports whether the queue has room for a record, and otherwise counts
// it as dropped. q.mu is released while waiting.
func (q *queue) waitForRoom() bool {
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
				break // other producers took the room each time
			}
			if !q.timing {
				q.timing, q.until = true, now.Add(q.cfg.MaxWait)
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

// spend ends the wait for room. q.mu is not held.
func (q *queue) spend() {
	q.mu.Lock()
	defer q.mu.Unlock()
	// The timer of an earlier wait may have been too late to be stopped.
	if q.timing && !time.Now().Before(q.until) {
		q.timing, q.spent = false, true
		q.room.Broadcast()
	}
}

// madeRoom gives producers new time to wait, and lets go those that do.
func (q *queue) madeRoom() {
	q.spent = false
	if q.timing {
		q.timing = false
		q.budget.Stop()
	}
	if q.blocked > 0 {
		q.room.Broadcast()
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default: // it has not yet seen the last one
	}
}
