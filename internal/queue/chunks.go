package queue

import (
	"reflect"
	"sync"
)

// hot is what Put touches: one cache line, because to fetch a line that another core
// has written costs more than all the rest of handing over a span.
type hot[T any] struct {
	mu      sync.Mutex
	filling []T  // the newest chunk's items
	waiting int  // in the queue
	limit   int  // of waiting; 0 when nothing is accepted any more
	wakeAt  int  // of waiting, when a producer must see to the worker
	awake   bool // the worker is not asleep: it needs no signal, at most a core
	_       [7]byte
}

// chunk holds the items of one batch.
type chunk[T any] struct {
	items []T // of the newest one, what hot.filling had at first
	next  *chunk[T]
}

// chunks is a list, oldest first. Only the last one may be partly filled: handing a
// batch to the exporter moves no item, and memory grows with what waits and not with
// what may wait.
type chunks[T any] struct {
	batch      int
	head, tail *chunk[T] // never nil
	taken      uint64    // items ever taken out

	free  *chunk[T]
	spare int // chunks there
	keep  int // of them at most, but for one
}

const (
	firstBytes = 8 << 10 // of a new chunk; it grows when that is not a batch
	keepBytes  = 1 << 20 // of the empty chunks that are kept for the next burst
)

func (q *Queue[T]) init(size, batch int) {
	q.limit, q.batch = size, batch
	q.keep = max(1, keepBytes/(batch*itemBytes[T]()))
	q.wakeAt, q.awake = q.yieldAt, true
	q.head = q.chunk()
	q.tail, q.filling = q.head, q.head.items
	q.recycle(q.chunk()) // so that the first batch allocates nothing
}

func itemBytes[T any]() int { return max(1, int(reflect.TypeFor[T]().Size())) }

// accepted is the number of items ever added. q.mu is held here and below.
func (q *Queue[T]) accepted() uint64 { return q.taken + uint64(q.waiting) }

func (q *Queue[T]) add(item T) {
	if len(q.filling) == cap(q.filling) {
		q.grow()
	}
	q.filling = append(q.filling, item)
	q.waiting++
}

// grow makes room in the newest chunk, or after it.
func (q *Queue[T]) grow() {
	if n := cap(q.filling); n < q.batch {
		larger := make([]T, len(q.filling), min(2*n, q.batch))
		copy(larger, q.filling)
		q.filling = larger
		return
	}
	q.extend()
}

func (q *Queue[T]) extend() {
	q.tail.items = q.filling
	q.tail.next = q.chunk()
	q.tail = q.tail.next
	q.filling = q.tail.items
}

// oldest is what pop would take.
func (q *Queue[T]) oldest() []T {
	if q.head == q.tail {
		return q.filling
	}
	return q.head.items
}

// pop takes out the oldest chunk.
func (q *Queue[T]) pop() *chunk[T] {
	c := q.head
	if c == q.tail {
		q.extend()
	}
	q.head, c.next = c.next, nil
	q.waiting -= len(c.items)
	q.taken += uint64(len(c.items))
	return c
}

func (q *Queue[T]) chunk() *chunk[T] {
	if c := q.free; c != nil {
		q.free, c.next = c.next, nil
		q.spare--
		return c
	}
	n := max(1, min(q.batch, firstBytes/itemBytes[T]()))
	if q.waiting >= q.batch { // the batch before is full, so this one may become it too
		n = q.batch
	}
	return &chunk[T]{items: make([]T, 0, n)}
}

// recycle keeps a chunk whose items have been cleared.
func (q *Queue[T]) recycle(c *chunk[T]) {
	if q.spare > 0 && q.spare >= q.keep {
		return
	}
	c.next = q.free
	q.free = c
	q.spare++
}

// discard forgets everything that waits and returns how much that was.
func (q *Queue[T]) discard() int {
	n := q.waiting
	q.taken += uint64(n)
	q.waiting = 0
	q.free, q.spare = nil, 0
	q.head = &chunk[T]{}
	q.tail, q.filling = q.head, nil
	return n
}
