package loopback

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// greeting is the payload of a hello.
type greeting struct {
	WorldSize int    `json:"world_size"`
	Key       string `json:"key"`
}

const (
	maxGreeting  = 4 << 10
	greetingTime = 5 * time.Second
	maxRefusals  = 4 // shown in an error
)

var errTooLate = errors.New("it came too late")

// admission collects the ranks as they come, each connection on a goroutine of
// its own so that a silent stranger holds nobody up.
type admission struct {
	o Options

	mu       sync.Mutex
	peers    map[int]*peer
	refusals []string
	over     bool          // nobody is admitted any more
	full     chan struct{} // closed when all are there
}

// admit returns the peers in rank order, or an error and no open connection.
func admit(ctx context.Context, o Options, l net.Listener) ([]*peer, error) {
	a := &admission{o: o, peers: map[int]*peer{}, full: make(chan struct{})}
	greet, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	broken := make(chan error, 1)
	working.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				broken <- err
				return
			}
			working.Go(func() { a.greet(greet, conn) })
		}
	})
	var cause error
	select {
	case <-a.full:
	case <-ctx.Done():
		cause = ctx.Err()
	case err := <-broken:
		cause = fmt.Errorf("the listener failed: %w", err)
	}
	a.mu.Lock()
	a.over = true
	if len(a.peers) == o.WorldSize-1 { // at the last moment
		cause = nil
	}
	a.mu.Unlock()
	stop() // unfinished greetings
	_ = l.Close()
	working.Wait()
	if cause == nil {
		peers := make([]*peer, 0, o.WorldSize-1)
		for rank := 1; rank < o.WorldSize; rank++ {
			peers = append(peers, a.peers[rank])
		}
		return peers, nil
	}
	return nil, a.disband(cause)
}

// greet reads one hello and keeps the connection or answers why not.
func (a *admission) greet(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithTimeout(ctx, greetingTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	r := bufio.NewReader(conn)
	f, err := readFrame(r, maxGreeting)
	if err == nil {
		if err = a.check(f); err == nil {
			if !stop() { // the deadline is set, or about to be
				err = errTooLate
			} else {
				err = a.keep(newPeer(int(f.arg), conn, r))
			}
		}
	}
	if err == nil {
		return
	}
	stop()
	a.refuse(conn, err)
}

func (a *admission) check(f frame) error {
	var hello greeting
	switch {
	case f.kind != kindHello:
		return fmt.Errorf("a %v frame, want hello", f.kind)
	case json.Unmarshal(f.payload, &hello) != nil:
		return errors.New("a hello that is not JSON")
	case subtle.ConstantTimeCompare([]byte(hello.Key), []byte(a.o.Key)) != 1:
		return errors.New("the key is not that of this job")
	case hello.WorldSize != a.o.WorldSize:
		return fmt.Errorf("rank %d has a world size of %d, rank 0 has %d: start all ranks with the same", f.arg, hello.WorldSize, a.o.WorldSize)
	case f.arg < 1 || uint64(f.arg) >= uint64(a.o.WorldSize):
		return fmt.Errorf("rank %d: want 1 to %d", f.arg, a.o.WorldSize-1)
	}
	return nil
}

func (a *admission) keep(p *peer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return errTooLate
	}
	if a.peers[p.rank] != nil {
		return fmt.Errorf("rank %d has joined already: give each process a rank of its own", p.rank)
	}
	a.peers[p.rank] = p
	if len(a.peers) == a.o.WorldSize-1 {
		close(a.full)
	}
	return nil
}

func (a *admission) refuse(conn net.Conn, reason error) {
	a.mu.Lock()
	if !a.over && len(a.refusals) < maxRefusals {
		a.refusals = append(a.refusals, reason.Error())
	}
	a.mu.Unlock()
	last(conn, abort(0, "it refused this process: "+reason.Error()))
}

// last sends a frame and ends the connection.
func last(conn net.Conn, f frame) {
	_ = conn.SetWriteDeadline(time.Now().Add(goodbye))
	_, _ = conn.Write(appendFrame(nil, f))
	_ = conn.Close()
}

// disband sends those home who came, and says who did not.
func (a *admission) disband(cause error) error {
	var absent []int
	for rank := 1; rank < a.o.WorldSize; rank++ {
		if a.peers[rank] == nil {
			absent = append(absent, rank)
		}
	}
	err := fmt.Errorf("%d of %d ranks did not join (%s): %w", len(absent), a.o.WorldSize, list(absent), cause)
	if len(a.refusals) > 0 {
		slices.Sort(a.refusals)
		err = fmt.Errorf("%w; turned away: %s", err, strings.Join(slices.Compact(a.refusals), "; "))
	}
	for _, p := range a.peers {
		last(p.conn, abort(0, err.Error()))
	}
	return &RankError{Rank: 0, Err: err}
}
