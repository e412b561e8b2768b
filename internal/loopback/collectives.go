package loopback

import (
	"context"
	"fmt"
)

// Op says what AllReduce makes of the values.
type Op int

// The operations of AllReduce.
const (
	Sum Op = iota
	Mean
)

// Broadcast gives every rank the payload of rank root; what the others pass is
// ignored. The result is not shared with the payload. It implements
// lens.Broadcaster.
func (g *Group) Broadcast(ctx context.Context, root int, payload []byte) ([]byte, error) {
	if root < 0 || root >= g.world {
		return nil, fmt.Errorf("lens: loopback: broadcast from rank %d: want 0 to %d", root, g.world-1)
	}
	if g.rank != root {
		payload = nil
	}
	out, err := g.exchange(ctx, kindBroadcast, uint32(root), payload)
	if err != nil {
		return nil, err
	}
	return append([]byte{}, out...), nil
}

// AllReduce replaces values, on every rank, by the sum or the mean of what all
// ranks passed, element by element. Every rank passes the same number of values
// and gets the same bits. When it fails, values is unchanged.
func (g *Group) AllReduce(ctx context.Context, op Op, values []float64) error {
	k := kindSum
	switch op {
	case Sum:
	case Mean:
		k = kindMean
	default:
		return fmt.Errorf("lens: loopback: all-reduce operation %d: want Sum or Mean", op)
	}
	out, err := g.exchange(ctx, k, 0, encodeFloats(values))
	if err != nil {
		return err
	}
	if err := decodeFloats(values, out); err != nil {
		failure := blame(0, "the result of the %v is malformed: %w", k, err)
		g.fail(failure)
		return failure
	}
	return nil
}

// Barrier returns when every rank has called it.
func (g *Group) Barrier(ctx context.Context) error {
	_, err := g.exchange(ctx, kindBarrier, 0, nil)
	return err
}

// exchange is one operation: the contribution of this rank in, the result out.
func (g *Group) exchange(ctx context.Context, k kind, arg uint32, payload []byte) ([]byte, error) {
	if len(payload) > g.limit {
		return nil, fmt.Errorf("lens: loopback: %v of %d bytes: the limit is %d (Options.MaxPayload)", k, len(payload), g.limit)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.timeout)
		defer cancel()
	}
	if err := g.takeTurn(ctx, k); err != nil {
		return nil, err
	}
	defer func() { g.turn <- struct{}{} }()
	if err := g.usable(); err != nil {
		return nil, err
	}
	mine := frame{kind: k, seq: g.seq.Add(1), arg: arg, payload: payload}
	if err := ctx.Err(); err != nil {
		return nil, g.giveUp(mine, err, nil)
	}
	if g.rank == 0 {
		return g.reduce(ctx, mine)
	}
	hub := g.peers[0]
	if err := hub.send(ctx, mine); err != nil {
		return nil, g.sendFailed(ctx, hub, mine, err)
	}
	result, err := g.next(ctx, hub, mine)
	if err != nil {
		return nil, err
	}
	return result.payload, nil
}

// takeTurn waits for the running operation of this rank.
func (g *Group) takeTurn(ctx context.Context, k kind) error {
	select {
	case <-g.turn: // also when ctx is done: to give up is an operation too
		return nil
	default:
	}
	select {
	case <-g.turn:
		return nil
	case <-ctx.Done():
		failure := blame(g.rank, "it gave up a %v, waiting for its own operation before it: %w", k, ctx.Err())
		g.fail(failure)
		return g.verdict(failure)
	}
}

// reduce is the hub's half of an operation.
func (g *Group) reduce(ctx context.Context, mine frame) ([]byte, error) {
	all := make([]frame, g.world)
	all[0] = mine
	for _, p := range g.peers {
		f, err := g.next(ctx, p, mine)
		if err != nil {
			return nil, err
		}
		all[p.rank] = f
	}
	result := frame{kind: mine.kind, seq: mine.seq, arg: mine.arg}
	var failure *RankError
	switch mine.kind {
	case kindBroadcast:
		result.payload = all[mine.arg].payload
	case kindSum, kindMean:
		result.payload, failure = combine(all)
	}
	if failure != nil {
		g.fail(failure)
		return nil, g.verdict(failure)
	}
	for _, p := range g.peers {
		if err := p.send(ctx, result); err != nil {
			return nil, g.sendFailed(ctx, p, mine, err)
		}
	}
	return result.payload, nil
}

// combine adds in rank order: float addition depends on the order, and the same
// job must give the same bits.
func combine(all []frame) ([]byte, *RankError) {
	sum := make([]float64, len(all[0].payload)/8)
	part := make([]float64, len(sum))
	for rank, f := range all {
		if err := decodeFloats(part, f.payload); err != nil {
			return nil, blame(rank, "%v %d: it passed %w, as rank 0 did", f.kind, f.seq, err)
		}
		for i, v := range part {
			if rank == 0 { // 0 + -0 is 0
				sum[i] = v
			} else {
				sum[i] += v
			}
		}
	}
	if all[0].kind == kindMean {
		for i := range sum {
			sum[i] /= float64(len(all))
		}
	}
	return encodeFloats(sum), nil
}

// next waits for the frame of a peer that belongs to the operation of mine.
func (g *Group) next(ctx context.Context, p *peer, mine frame) (frame, error) {
	var f frame
	select {
	case f = <-p.in:
	default:
		select {
		case f = <-p.in:
		case <-p.left:
			select {
			case f = <-p.in: // sent before the goodbye
			default:
				failure := blame(p.rank, "it has left the group before %v %d", mine.kind, mine.seq)
				g.fail(failure)
				return frame{}, g.verdict(failure)
			}
		case <-g.failed:
			return frame{}, g.err
		case <-g.closed:
			return frame{}, ErrClosed
		case <-ctx.Done():
			return frame{}, g.giveUp(mine, ctx.Err(), g.missing(mine.seq))
		}
	}
	if f.kind != mine.kind || f.seq != mine.seq || f.arg != mine.arg {
		failure := blame(p.rank, "it is at %s while rank %d is at %s: all ranks must make the same calls in the same order",
			describe(f), g.rank, describe(mine))
		g.fail(failure)
		return frame{}, g.verdict(failure)
	}
	return f, nil
}

func describe(f frame) string {
	if f.kind == kindBroadcast {
		return fmt.Sprintf("%v %d from rank %d", f.kind, f.seq, f.arg)
	}
	return fmt.Sprintf("%v %d", f.kind, f.seq)
}

// missing lists the peers that have not sent anything for an operation.
func (g *Group) missing(seq uint32) (ranks []int) {
	for _, p := range g.peers {
		if p.seen.Load() < seq {
			ranks = append(ranks, p.rank)
		}
	}
	return ranks
}

// giveUp ends the group because the context of this rank is done.
func (g *Group) giveUp(mine frame, cause error, waitingFor []int) error {
	failure := blame(g.rank, "it gave up %v %d: %w", mine.kind, mine.seq, cause)
	if len(waitingFor) > 0 {
		failure = blame(g.rank, "it gave up %v %d, waiting for %s: %w", mine.kind, mine.seq, list(waitingFor), cause)
	}
	g.fail(failure)
	return g.verdict(failure)
}

// sendFailed prefers what the reader of the connection finds: a peer that ends
// the connection has often said why.
func (g *Group) sendFailed(ctx context.Context, p *peer, mine frame, err error) error {
	if ctx.Err() != nil {
		return g.giveUp(mine, ctx.Err(), []int{p.rank})
	}
	select {
	case <-g.failed:
		return g.err
	case <-g.closed:
		return ErrClosed
	case <-p.left:
		err = fmt.Errorf("it has left the group before %v %d", mine.kind, mine.seq)
	case <-ctx.Done():
	}
	failure := blame(p.rank, "the connection is lost: %w", err)
	g.fail(failure)
	return g.verdict(failure)
}

// verdict is what this rank and all the others agree on, which is mine unless
// something else came first.
func (g *Group) verdict(mine error) error {
	select {
	case <-g.failed:
		return g.err
	case <-g.closed:
		return ErrClosed
	default:
		return mine
	}
}

func (g *Group) usable() error {
	select {
	case <-g.closed:
		return ErrClosed
	default:
	}
	select {
	case <-g.failed:
		return g.err
	default:
		return nil
	}
}
