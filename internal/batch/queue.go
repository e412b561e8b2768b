package batch

import (
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// hot is what OnEnd touches: one cache line, because to fetch a line that another
// core has written costs more than all the rest of handing over a span.
type hot struct {
	mu      sync.Mutex
	filling []sdktrace.ReadOnlySpan // the newest chunk's spans
	waiting int                     // in the queue
	limit   int                     // of waiting; 0 when nothing is accepted any more
	wakeAt  int                     // of waiting, when a producer must see to the worker
	awake   bool                    // the worker is not asleep: it needs no signal, at most a core
	_       [7]byte                 // 64 in all
}

// chunk holds the spans of one batch.
type chunk struct {
	spans []sdktrace.ReadOnlySpan // of the newest one, what hot.filling had at first
	next  *chunk
}

// queue is a list of chunks, oldest first. Only the last one may be partly filled:
// handing a batch to the exporter moves no span, and memory grows with what waits
// and not with what may wait.
type queue struct {
	batch      int
	head, tail *chunk // never nil
	taken      uint64 // spans ever taken out

	free  *chunk
	spare int // chunks there
}

// keepSpans bounds the empty chunks kept for the next burst, in spans.
const keepSpans = 1 << 16

func (p *Processor) init(size, batch int) {
	p.limit, p.batch = size, batch
	p.wakeAt, p.awake = p.yieldAt, true
	p.head = p.chunk()
	p.tail, p.filling = p.head, p.head.spans
	p.recycle(p.chunk()) // so that the first batch allocates nothing
}

// accepted is the number of spans ever added. p.mu is held here and below.
func (p *Processor) accepted() uint64 { return p.taken + uint64(p.waiting) }

func (p *Processor) add(s sdktrace.ReadOnlySpan) {
	if len(p.filling) == cap(p.filling) {
		p.extend()
	}
	p.filling = append(p.filling, s)
	p.waiting++
}

func (p *Processor) extend() {
	p.tail.spans = p.filling
	p.tail.next = p.chunk()
	p.tail = p.tail.next
	p.filling = p.tail.spans
}

// oldest is what pop would take.
func (p *Processor) oldest() []sdktrace.ReadOnlySpan {
	if p.head == p.tail {
		return p.filling
	}
	return p.head.spans
}

// pop takes out the oldest chunk.
func (p *Processor) pop() *chunk {
	c := p.head
	if c == p.tail {
		p.extend()
	}
	p.head, c.next = c.next, nil
	p.waiting -= len(c.spans)
	p.taken += uint64(len(c.spans))
	return c
}

func (p *Processor) chunk() *chunk {
	if c := p.free; c != nil {
		p.free, c.next = c.next, nil
		p.spare--
		return c
	}
	return &chunk{spans: make([]sdktrace.ReadOnlySpan, 0, p.batch)}
}

// recycle keeps a chunk whose spans have been cleared.
func (p *Processor) recycle(c *chunk) {
	if p.spare > 0 && (p.spare+1)*p.batch > keepSpans {
		return
	}
	c.next = p.free
	p.free = c
	p.spare++
}

// discard forgets everything that waits and returns how much that was.
func (p *Processor) discard() int {
	n := p.waiting
	p.taken += uint64(n)
	p.waiting = 0
	p.free, p.spare = nil, 0
	p.head = &chunk{}
	p.tail, p.filling = p.head, nil
	return n
}
