package connpool

import (
	"container/list"
	"sync"
)

// idleHosts is how many hosts without requests are remembered, to spare their reallocation at the next request.
const idleHosts = 256

// hostKey tells hosts apart as connections do.
type hostKey struct{ scheme, host, port string }

// limiter hands out slots. A request needs one of its host and then one of the total; a limit of 0 is no limit.
//
// Taking the host's slot first keeps every step O(1) and wastes nothing: whoever holds a host's slot and waits for
// the total is ahead of those who wait for that host, and while anyone waits for the total, no total slot is free.
type limiter struct {
	total, perHost int

	mu    sync.Mutex
	used  int       // total slots taken
	queue list.List // of *waiter that hold their host's slot and wait for the total
	hosts map[hostKey]*hostSlots
}

type hostSlots struct {
	key   hostKey
	used  int       // the host's slots taken, by those waiting for the total too
	queue list.List // of *waiter
}

type waiter struct {
	host       *hostSlots
	constraint Constraint
	ready      chan struct{} // closed when the slot is the waiter's
	in         *list.List    // the queue it stands in; nil once it was served
	at         *list.Element
}

func newLimiter(l Limits) *limiter {
	return &limiter{total: l.Total, perHost: l.PerHost, hosts: make(map[hostKey]*hostSlots)}
}

// acquire takes a slot, or queues for one: then the waiter is not nil, and its ready channel tells when.
func (l *limiter) acquire(key hostKey) (*hostSlots, *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[key]
	if h == nil {
		h = &hostSlots{key: key}
		l.hosts[key] = h
	}
	totalFull := l.total > 0 && l.used >= l.total
	hostFull := l.perHost > 0 && h.used >= l.perHost
	if !totalFull && !hostFull {
		h.used++
		l.used++
		return h, nil
	}
	w := &waiter{host: h, constraint: PerHost, ready: make(chan struct{})}
	if totalFull {
		w.constraint = Total
	}
	if hostFull {
		w.join(&h.queue)
	} else {
		h.used++
		w.join(&l.queue)
	}
	return h, w
}

// release gives back both slots.
func (l *limiter) release(h *hostSlots) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	if e := l.queue.Front(); e != nil {
		w := e.Value.(*waiter)
		w.leave()
		l.used++
		close(w.ready)
	}
	l.releaseHost(h)
}

// releaseHost gives back the slot of the host alone; l.mu is held.
func (l *limiter) releaseHost(h *hostSlots) {
	h.used--
	if e := h.queue.Front(); e != nil {
		w := e.Value.(*waiter)
		w.leave()
		h.used++
		if l.total > 0 && l.used >= l.total {
			w.join(&l.queue)
			return
		}
		l.used++
		close(w.ready)
		return
	}
	if h.used == 0 && len(l.hosts) > idleHosts {
		delete(l.hosts, h.key)
	}
}

// abandon takes w out of its queue. It reports false if w was served before it could give up: the slot is then w's.
func (l *limiter) abandon(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.in == nil {
		return false
	}
	holdsHost := w.in == &l.queue
	w.leave()
	if holdsHost {
		l.releaseHost(w.host)
	}
	return true
}

func (w *waiter) join(q *list.List) { w.in, w.at = q, q.PushBack(w) }

func (w *waiter) leave() {
	w.in.Remove(w.at)
	w.in, w.at = nil, nil
}
