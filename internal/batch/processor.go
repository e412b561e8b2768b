package batch

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Processor is a span processor that exports in batches. Make one with [New].
// Every method is safe for concurrent use.
type Processor struct {
	hot

	exp     sdktrace.SpanExporter
	cfg     Config
	early   int             // spans waiting that wake the worker at once
	yieldAt int             // and that make a producer let it run
	ctx     context.Context // of every call of the exporter
	cancel  context.CancelFunc
	wake    chan struct{} // to the worker
	lossy   chan struct{} // to the one that calls OnLoss
	done    chan struct{} // closed when finished is set

	delay     *time.Timer // the worker's own
	exporting atomic.Bool // the worker is inside the exporter

	// From here on guarded by mu.

	queue
	blocked int // producers that wait for room, one span each

	// Why the worker should take a batch that is not full.
	due     bool
	dueAt   time.Time // zero: no span waits
	flushTo uint64    // a position of the queue

	// The time that producers may wait in a full queue.
	room   sync.Cond
	budget *time.Timer
	timing bool // the budget's timer runs
	until  time.Time
	spent  bool

	counts
	inflight int   // spans with the exporter
	cause    error // of the last failed export

	reported    counts // as of the last report
	flushers    []flusher
	lossPending bool

	stopping     bool // Shutdown was called
	exporterDown bool // its Shutdown was
	callers      int  // of Shutdown, waiting
	givenUp      bool // no caller waits any more: the linger timer runs
	timeUp       error
	linger       *time.Timer
	finished     bool
	result       error
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// New starts a processor. It must be shut down. A nil exporter, also one with a
// type, is accepted; its spans fail and are counted.
func New(exp sdktrace.SpanExporter, cfg Config) *Processor {
	if exp == nil {
		exp = missing{}
	}
	cfg = cfg.normal()
	p := &Processor{
		exp:     exp,
		cfg:     cfg,
		early:   min(cfg.BatchSize, max(1, cfg.QueueSize/2)),
		yieldAt: min(2*cfg.BatchSize, cfg.QueueSize),
		wake:    make(chan struct{}, 1),
		lossy:   make(chan struct{}, 1),
		done:    make(chan struct{}),
		delay:   time.NewTimer(cfg.Delay),
	}
	p.init(cfg.QueueSize, cfg.BatchSize)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.room.L = &p.mu
	p.budget = time.AfterFunc(time.Hour, p.spend)
	p.budget.Stop()
	p.linger = time.AfterFunc(time.Hour, p.abandon)
	p.linger.Stop()
	go p.work()
	if cfg.OnLoss != nil {
		go p.tell()
	}
	return p
}

// OnStart does nothing. It implements sdktrace.SpanProcessor.
func (p *Processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a sampled span. It implements sdktrace.SpanProcessor.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	p.lock()
	if p.waiting >= p.limit && !p.waitForRoom() {
		p.mu.Unlock()
		return
	}
	p.add(s)
	if p.waiting < p.wakeAt {
		p.mu.Unlock()
		return
	}
	if !p.awake {
		p.awake, p.wakeAt = true, p.yieldAt
		p.mu.Unlock()
		p.signal()
		return
	}
	p.mu.Unlock()
	if !p.exporting.Load() {
		// The worker has something to do and no core to do it on. Producers that do
		// not let it have one would fill the queue within their turns of 10 ms, and
		// memory with it; then they would have to wait.
		runtime.Gosched()
	}
}

// Turns of an empty loop, about a third of a nanosecond each.
const firstPause, lastPause = 1000, 8000

// lock is p.mu.Lock for the hot path. What the lock protects takes some tens of
// nanoseconds, less than it takes to move its memory to another core. So who finds
// it taken stays away for a few microseconds, in which the other core can add a
// hundred spans undisturbed, and then lets other goroutines run. To queue up instead
// puts the mutex into its fair mode, where each span is a switch of goroutines: 255 ns
// a span against 57, with 8 goroutines on 2 cores.
func (p *Processor) lock() {
	for pause := firstPause; ; pause *= 2 {
		if p.mu.TryLock() {
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
		if p.mu.TryLock() {
			return
		}
	}
	p.mu.Lock()
}

// waitForRoom reports whether the queue has room for a span, and otherwise counts
// it as dropped. p.mu is held, and released while waiting.
func (p *Processor) waitForRoom() bool {
	if p.stopping {
		p.late++
		return false
	}
	p.blocked++
	var patience time.Time
	for p.waiting >= p.limit && !p.stopping {
		if !p.cfg.Block {
			if p.spent || p.cfg.MaxWait < 0 {
				break
			}
			now := time.Now()
			if patience.IsZero() {
				patience = now.Add(p.cfg.MaxWait)
			} else if !now.Before(patience) {
				break
			}
			if !p.timing {
				p.timing = true
				p.until = now.Add(p.cfg.MaxWait)
				p.budget.Reset(p.cfg.MaxWait)
			}
		}
		p.room.Wait()
	}
	p.blocked--
	if p.waiting < p.limit {
		return true
	}
	p.full++
	p.noteLoss()
	return false
}

// spend ends the wait for room.
func (p *Processor) spend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The timer of an earlier wait may have been too late to be stopped.
	if p.timing && !time.Now().Before(p.until) {
		p.timing, p.spent = false, true
		p.room.Broadcast()
	}
}

// madeRoom gives producers new time to wait, and lets go those that do. p.mu is held.
func (p *Processor) madeRoom() {
	p.spent = false
	if p.timing {
		p.timing = false
		p.budget.Stop()
	}
	if p.blocked > 0 {
		p.room.Broadcast()
	}
}

func (p *Processor) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // it has not yet seen the last one
	}
}

// MarshalLog is what the SDK's debug log shows instead of the fields.
func (p *Processor) MarshalLog() any {
	return struct {
		Type, Exporter       string
		QueueSize, BatchSize int
		Delay, ExportTimeout time.Duration
		Block                bool
	}{"lens/batch", fmt.Sprintf("%T", p.exp), p.cfg.QueueSize, p.cfg.BatchSize, p.cfg.Delay, p.cfg.ExportTimeout, p.cfg.Block}
}

type missing struct{}

func (missing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return fmt.Errorf("lens: the span exporter is nil: nothing can be exported")
}
func (missing) Shutdown(context.Context) error { return nil }
