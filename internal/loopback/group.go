package loopback

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// goodbye bounds the last words to a peer that may not be listening any more.
const goodbye = 500 * time.Millisecond

// Group is this process's place in a job. Its methods are safe for concurrent
// use, and operations are made one at a time; as all ranks must make them in the
// same order, concurrent calls are rarely what is wanted.
type Group struct {
	rank, world int
	timeout     time.Duration
	limit       int
	peers       []*peer // on rank 0 all the others, elsewhere rank 0

	turn chan struct{} // holds one token, taken by the running operation
	seq  atomic.Uint32 // of the latest operation of this rank

	failing sync.Once     // sends the last frame: abort, or bye in Close
	failed  chan struct{} // closed once err is set
	err     error

	closing sync.Once
	closed  chan struct{}
	readers sync.WaitGroup
}

// peer is a connection to another rank.
type peer struct {
	rank int
	conn net.Conn
	r    *bufio.Reader
	in   chan frame    // contributions on rank 0, results elsewhere
	seen atomic.Uint32 // sequence number of the latest frame
	left chan struct{} // closed when the peer has said goodbye

	writing sync.Mutex
	broken  bool // a frame was written in part; guarded by writing
}

func newPeer(rank int, conn net.Conn, r *bufio.Reader) *peer {
	// One frame can be under way for each operation, and a peer that sends more
	// waits; two keep the goroutine free to see the connection break.
	return &peer{rank: rank, conn: conn, r: r, in: make(chan frame, 2), left: make(chan struct{})}
}

func newGroup(o Options, peers []*peer) *Group {
	g := &Group{
		rank: o.Rank, world: o.WorldSize, timeout: o.Timeout, limit: o.MaxPayload, peers: peers,
		turn: make(chan struct{}, 1), failed: make(chan struct{}), closed: make(chan struct{}),
	}
	g.turn <- struct{}{}
	for _, p := range peers {
		g.readers.Go(func() { g.receive(p) })
	}
	return g
}

// Rank returns the rank of this process.
func (g *Group) Rank() int { return g.rank }

// WorldSize returns the number of ranks.
func (g *Group) WorldSize() int { return g.world }

// receive hands on what a peer sends, until the connection or the group ends.
func (g *Group) receive(p *peer) {
	for {
		f, err := readFrame(p.r, max(g.limit, maxText))
		switch {
		case errors.Is(err, io.EOF):
			g.fail(blame(p.rank, "the connection ended: the process has died or exited"))
			return
		case err != nil:
			g.fail(blame(p.rank, "the connection is lost: %w", err))
			return
		case f.kind == kindAbort:
			g.fail(&RankError{Rank: int(f.arg), Err: errors.New(g.withLaggards(f.text(), p))})
			return
		case f.kind == kindBye:
			close(p.left)
			return
		}
		p.seen.Store(f.seq)
		select {
		case p.in <- f:
		case <-g.failed: // go on reading: to close on unread data would discard the last words
		case <-g.closed:
			return
		}
	}
}

// withLaggards adds who is behind, which the hub alone can know: a rank that
// gives up does not know for whom it waited.
func (g *Group) withLaggards(text string, from *peer) string {
	if g.rank != 0 {
		return text
	}
	latest := g.seq.Load()
	for _, p := range g.peers {
		latest = max(latest, p.seen.Load())
	}
	var behind []int
	if g.seq.Load() < latest {
		behind = append(behind, 0)
	}
	for _, p := range g.peers {
		if p != from && p.seen.Load() < latest {
			behind = append(behind, p.rank)
		}
	}
	if len(behind) == 0 {
		return text
	}
	return fmt.Sprintf("%s (operation %d had not been reached by %s)", text, latest, list(behind))
}

// fail makes every operation of every rank fail with err. The first call counts.
func (g *Group) fail(err *RankError) {
	select {
	case <-g.closed: // what breaks now breaks because it is closed
		return
	default:
	}
	g.failing.Do(func() {
		g.err = err
		close(g.failed)
		if g.rank == 0 || err.Rank == g.rank { // what else fails here comes from the hub
			g.tell(abort(err.Rank, err.Err.Error()))
		}
	})
}

// tell sends a last frame to every peer that can still take it.
func (g *Group) tell(f frame) {
	var sent sync.WaitGroup
	for _, p := range g.peers {
		sent.Go(func() {
			// Before the lock: the deadline also ends a write that holds it.
			_ = p.conn.SetWriteDeadline(time.Now().Add(goodbye))
			p.writing.Lock()
			defer p.writing.Unlock()
			if p.broken { // half a frame would keep the peer waiting for the rest
				_ = p.conn.Close()
				return
			}
			_, err := p.conn.Write(appendFrame(nil, f))
			p.broken = err != nil
		})
	}
	sent.Wait()
}

// send writes a frame within the deadline of ctx.
func (p *peer) send(ctx context.Context, f frame) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.broken {
		return io.ErrClosedPipe
	}
	deadline, _ := ctx.Deadline()
	_ = p.conn.SetWriteDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = p.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err := p.conn.Write(appendFrame(nil, f))
	p.broken = err != nil
	return err
}

// Close leaves the group in order. Operations of this rank that are running fail
// with ErrClosed, and the next ones of the others with an error that names this
// rank. It waits for the group's goroutines and always returns nil.
func (g *Group) Close() error {
	g.closing.Do(func() {
		close(g.closed)
		// After a failure the abort is the last word; wait until it is out.
		g.failing.Do(func() { g.tell(frame{kind: kindBye}) })
		for _, p := range g.peers {
			_ = p.conn.Close()
		}
	})
	g.readers.Wait()
	return nil
}
