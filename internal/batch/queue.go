package batch

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

// chunk holds the spans of one batch.
type chunk struct {
	spans []sdktrace.ReadOnlySpan
	next  *chunk
}

// queue is a list of chunks, oldest first. Only the last one may be partly filled:
// handing a batch to the exporter moves no span, and memory grows with what waits
// and not with what may wait. It is guarded by the processor's mutex.
type queue struct {
	size, batch int

	head, tail *chunk // never nil
	waiting    int    // spans in them

	accepted uint64 // spans ever added: the position of the next one
	taken    uint64 // spans ever taken out

	free  *chunk
	spare int // chunks there
}

// keepSpans bounds the empty chunks kept for the next burst, in spans.
const keepSpans = 1 << 16

func newQueue(size, batch int) queue {
	q := queue{size: size, batch: batch}
	q.recycle(q.chunk())
	q.head = &chunk{spans: make([]sdktrace.ReadOnlySpan, 0, batch)}
	q.tail = q.head
	return q
}

func (q *queue) add(s sdktrace.ReadOnlySpan) {
	if len(q.tail.spans) == q.batch {
		q.tail.next = q.chunk()
		q.tail = q.tail.next
	}
	q.tail.spans = append(q.tail.spans, s)
	q.waiting++
	q.accepted++
}

// pop takes out the oldest chunk.
func (q *queue) pop() *chunk {
	c := q.head
	if q.head = c.next; q.head == nil {
		q.head = q.chunk()
		q.tail = q.head
	}
	c.next = nil
	q.waiting -= len(c.spans)
	q.taken += uint64(len(c.spans))
	return c
}

func (q *queue) chunk() *chunk {
	if c := q.free; c != nil {
		q.free, c.next = c.next, nil
		q.spare--
		return c
	}
	return &chunk{spans: make([]sdktrace.ReadOnlySpan, 0, q.batch)}
}

// recycle keeps a chunk whose spans have been cleared.
func (q *queue) recycle(c *chunk) {
	if q.spare > 0 && (q.spare+1)*q.batch > keepSpans {
		return
	}
	c.next = q.free
	q.free = c
	q.spare++
}

// discard forgets everything that waits and returns how much that was.
func (q *queue) discard() int {
	n := q.waiting
	q.taken += uint64(n)
	q.waiting = 0
	q.free, q.spare = nil, 0
	q.head = &chunk{}
	q.tail = q.head
	return n
}
