package collective

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

const (
	greetingTime = 5 * time.Second // for a process that has connected to say who it is
	lookAgain    = 10 * time.Millisecond
)

// meeting is what rank 0 leaves in the rendezvous file. The key keeps out
// processes that cannot read the file.
type meeting struct{ Addr, Key string }

// hello is the first message of every other rank.
type hello struct {
	Key         string
	Rank, World int
}

// Join meets the other ranks of a job of world processes and returns when all of
// them are there; a context without a deadline is given one minute. Rank 0
// listens on a free loopback port, writes its address to file, which must not
// exist yet, and removes it again; the others wait for the file. A job of one
// rank needs no file.
func Join(ctx context.Context, rank, world int, file string) (*Group, error) {
	if world < 1 || rank < 0 || rank >= world {
		return nil, fmt.Errorf("rank %d of %d: want 0 <= rank < world size", rank, world)
	}
	g := &Group{rank: rank, world: world}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	var err error
	switch {
	case world == 1:
	case rank == 0:
		err = g.gatherRanks(ctx, file)
	default:
		err = g.joinRankZero(ctx, file)
	}
	if err != nil {
		_ = g.Close()
		return nil, err
	}
	return g, nil
}

// gatherRanks is rank 0's half of the rendezvous. It turns away what is not one
// of the missing ranks.
func (g *Group) gatherRanks(ctx context.Context, file string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("rank 0 cannot listen: %w", err)
	}
	defer func() { _ = l.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	key := rand.Text()
	if err := writeMeeting(file, meeting{Addr: l.Addr().String(), Key: key}); err != nil {
		return err
	}
	defer func() { _ = os.Remove(file) }()
	for len(g.peers) < g.world-1 {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("%d of %d ranks did not join: %w", g.world-1-len(g.peers), g.world, cmp.Or(context.Cause(ctx), err))
		}
		p := newPeer(0, conn)
		_ = conn.SetDeadline(time.Now().Add(greetingTime))
		if err := g.greet(p, key); err != nil {
			_ = p.out.Encode(message{Fault: &Fault{0, "it refused this process: " + err.Error()}})
			_ = conn.Close()
			continue
		}
		_ = conn.SetDeadline(time.Time{})
		g.peers = append(g.peers, p)
	}
	slices.SortFunc(g.peers, func(a, b *peer) int { return a.rank - b.rank })
	for _, p := range g.peers {
		if err := p.out.Encode(message{Op: "welcome"}); err != nil {
			return g.lost(ctx, message{Op: "welcome"}, p, err)
		}
	}
	return nil
}

// greet reads which rank has connected, or says why it is none.
func (g *Group) greet(p *peer, key string) error {
	var h hello
	switch err := p.in.Decode(&h); {
	case err != nil:
		return fmt.Errorf("no greeting of a rank: %w", err)
	case h.Key != key:
		return errors.New("the key is not that of this job")
	case h.World != g.world:
		return fmt.Errorf("rank %d has a world size of %d, rank 0 has %d: start all ranks with the same", h.Rank, h.World, g.world)
	case slices.ContainsFunc(g.peers, func(other *peer) bool { return other.rank == h.Rank }):
		return fmt.Errorf("rank %d has joined already: give each process a rank of its own", h.Rank)
	}
	p.rank = h.Rank
	return nil
}

// joinRankZero is the other ranks' half.
func (g *Group) joinRankZero(ctx context.Context, file string) error {
	m, err := awaitMeeting(ctx, file)
	if err != nil {
		return err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.Addr)
	if err != nil {
		return fmt.Errorf("rank 0 cannot be reached: %w", err)
	}
	g.peers = []*peer{newPeer(0, conn)}
	ctx, cancel := g.bound(ctx)
	defer cancel()
	err = g.peers[0].out.Encode(hello{Key: m.Key, Rank: g.rank, World: g.world})
	_, err = g.answer(ctx, message{Op: "welcome"}, err)
	return err
}

func writeMeeting(path string, m meeting) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("rendezvous file: %w: give every job a path of its own", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("rendezvous file: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// awaitMeeting waits for the whole file: rank 0 may start later, or be writing.
func awaitMeeting(ctx context.Context, path string) (m meeting, err error) {
	for {
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err == nil {
			return m, nil
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return m, fmt.Errorf("rank 0 left no rendezvous file: %w: %w", context.Cause(ctx), err)
		}
	}
}

func newPeer(rank int, conn net.Conn) *peer {
	return &peer{rank: rank, conn: conn, in: gob.NewDecoder(conn), out: gob.NewEncoder(conn)}
}
