// Package collective gives the processes of one job, on one host, the collective
// operations of data-parallel training: Broadcast, AllReduce and Barrier, over
// TCP. It is as much of NCCL, MPI or Gloo as this example needs.
//
// Rank 0 is the hub: it gets every rank's contribution and sends everybody the
// result, so every operation is a barrier, too. All ranks call the same
// operations in the same order. When one of them dies, leaves or gives up, the
// operation fails on all of them with a [Fault] that names it, and the group is
// of no further use.
package collective

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// Group is this process's place in the job. Its operations are made one at a
// time; Close may be called at any time.
type Group struct {
	rank, world int
	peers       []*peer // on rank 0 the others in rank order, elsewhere rank 0

	mu  sync.Mutex // held by the running operation
	err error      // of the first operation that failed
}

// peer is the connection to another rank.
type peer struct {
	rank int
	conn net.Conn
	in   *gob.Decoder
	out  *gob.Encoder
}

// message is a contribution to an operation, or its result.
type message struct {
	Op      string
	Root    int       // of a broadcast
	Payload []byte    // of a broadcast
	Values  []float64 // of an all-reduce
	Fault   *Fault    // the end of the group, in place of a result
}

// Fault says which rank made an operation fail, and why.
type Fault struct {
	Rank int
	Text string
}

// Error names the rank and the cause.
func (f *Fault) Error() string { return fmt.Sprintf("rank %d: %s", f.Rank, f.Text) }

// Rank returns the rank of this process.
func (g *Group) Rank() int { return g.rank }

// WorldSize returns the number of ranks.
func (g *Group) WorldSize() int { return g.world }

// Broadcast gives every rank the payload of rank root; what the others pass is
// ignored. It implements lens.Broadcaster.
func (g *Group) Broadcast(ctx context.Context, root int, payload []byte) ([]byte, error) {
	if root < 0 || root >= g.world {
		return nil, fmt.Errorf("broadcast from rank %d: want 0 to %d", root, g.world-1)
	}
	if g.rank != root {
		payload = nil
	}
	result, err := g.exchange(ctx, message{Op: "broadcast", Root: root, Payload: payload})
	return result.Payload, err
}

// AllReduce replaces values, on every rank, by the sum of what all ranks passed,
// element by element. It adds in rank order, so that all get the same bits in
// every run. When it fails, values is unchanged.
func (g *Group) AllReduce(ctx context.Context, values []float64) error {
	result, err := g.exchange(ctx, message{Op: "all-reduce", Values: values})
	if err == nil {
		copy(values, result.Values)
	}
	return err
}

// Barrier returns when every rank has called it.
func (g *Group) Barrier(ctx context.Context) error {
	_, err := g.exchange(ctx, message{Op: "barrier"})
	return err
}

// Close leaves the group. It returns nil.
func (g *Group) Close() error {
	for _, p := range g.peers {
		_ = p.conn.Close()
	}
	return nil
}

// exchange is one operation: the contribution of this rank in, the result out. It
// ends at the deadline of ctx, and without one after a minute.
func (g *Group) exchange(ctx context.Context, mine message) (result message, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return message{}, g.err
	}
	ctx, cancel := g.bound(ctx)
	defer cancel()
	if g.rank == 0 {
		result, err = g.lead(ctx, mine)
	} else {
		err = g.peers[0].out.Encode(mine)
		result, err = g.answer(ctx, mine, err)
	}
	if err != nil { // nobody knows any more who got what
		g.err = err
		_ = g.Close()
	}
	return result, err
}

// bound makes the connections fail when ctx ends, which it does within a minute
// if it has no deadline.
func (g *Group) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := withDeadline(ctx)
	stop := context.AfterFunc(ctx, func() { g.setDeadline(time.Unix(1, 0)) })
	return ctx, func() { stop(); cancel() }
}

func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Minute)
}

func (g *Group) setDeadline(t time.Time) {
	for _, p := range g.peers {
		_ = p.conn.SetDeadline(t)
	}
}

// answer reads what rank 0 says, which is the reason when writing has failed.
func (g *Group) answer(ctx context.Context, mine message, writeErr error) (m message, err error) {
	hub := g.peers[0]
	if err := hub.in.Decode(&m); err != nil {
		return message{}, g.lost(ctx, mine, hub, cmp.Or(writeErr, err))
	}
	if m.Fault != nil {
		return message{}, m.Fault
	}
	return m, nil
}

// lead is rank 0's half. It hears every rank before it gives up, because what is
// still unread when a connection is closed would take the last words with it.
func (g *Group) lead(ctx context.Context, mine message) (message, error) {
	result := mine
	result.Values = slices.Clone(mine.Values)
	var fault *Fault
	for _, p := range g.peers {
		var m message
		err := p.in.Decode(&m)
		switch {
		case fault != nil:
		case err != nil:
			fault = g.lost(ctx, mine, p, err)
		case m.Op != mine.Op || m.Root != mine.Root || len(m.Values) != len(mine.Values):
			fault = &Fault{p.rank, fmt.Sprintf("it is at %v while rank 0 is at %v: all ranks must make the same calls in the same order", m, mine)}
		case p.rank == mine.Root:
			result.Payload = m.Payload
		}
		if fault == nil {
			for i, v := range m.Values {
				result.Values[i] += v
			}
		}
	}
	if fault == nil {
		for _, p := range g.peers {
			if err := p.out.Encode(result); err != nil && fault == nil {
				fault = g.lost(ctx, mine, p, err)
			}
		}
	}
	if fault == nil {
		return result, nil
	}
	g.setDeadline(time.Now().Add(time.Second)) // those that are gone may not be listening
	for _, p := range g.peers {
		_ = p.out.Encode(message{Fault: fault})
	}
	return message{}, fault
}

// lost says whose fault it is that p could not be reached.
func (g *Group) lost(ctx context.Context, mine message, p *peer, err error) *Fault {
	switch {
	case ctx.Err() != nil:
		return &Fault{g.rank, fmt.Sprintf("it gave up %v, waiting for rank %d: %v", mine, p.rank, context.Cause(ctx))}
	case errors.Is(err, io.EOF):
		return &Fault{p.rank, "the connection ended: the process has died or left"}
	}
	return &Fault{p.rank, fmt.Sprintf("the connection is lost: %v", err)}
}

func (m message) String() string {
	switch m.Op {
	case "broadcast":
		return fmt.Sprintf("a broadcast from rank %d", m.Root)
	case "all-reduce":
		return fmt.Sprintf("an all-reduce of %d values", len(m.Values))
	}
	return "a " + m.Op
}
