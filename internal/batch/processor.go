package batch

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Processor is a span processor that exports in batches. Make one with [New].
// Every method is safe for concurrent use.
type Processor struct {
	exp    sdktrace.SpanExporter
	cfg    Config
	early  int             // spans waiting that wake the worker at once
	ctx    context.Context // of every call of the exporter
	cancel context.CancelFunc
	wake   chan struct{} // to the worker
	lossy  chan struct{} // to the one that calls OnLoss
	done   chan struct{} // closed when finished is set

	delay *time.Timer // the worker's own

	mu sync.Mutex
	queue
	wakeAt  int // waiting spans at which a producer must wake the worker
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

const never = math.MaxInt

// New starts a processor. It must be shut down. A nil exporter, also one with a
// type, is accepted; its spans fail and are counted.
func New(exp sdktrace.SpanExporter, cfg Config) *Processor {
	if exp == nil {
		exp = missing{}
	}
	cfg = cfg.normal()
	p := &Processor{
		exp:    exp,
		cfg:    cfg,
		early:  min(cfg.BatchSize, max(1, cfg.QueueSize/2)),
		queue:  newQueue(cfg.QueueSize, cfg.BatchSize),
		wakeAt: never,
		wake:   make(chan struct{}, 1),
		lossy:  make(chan struct{}, 1),
		done:   make(chan struct{}),
		delay:  time.NewTimer(cfg.Delay),
	}
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
	p.mu.Lock()
	p.ended++
	if (p.stopping || p.waiting >= p.size) && !p.waitForRoom() {
		p.mu.Unlock()
		return
	}
	p.add(s)
	wake := p.waiting >= p.wakeAt
	if wake {
		p.wakeAt = never
	}
	p.mu.Unlock()
	if wake {
		p.signal()
	}
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
	for p.waiting >= p.size && !p.stopping {
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
	if p.waiting < p.size && !p.stopping {
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
