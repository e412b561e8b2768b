package loopback

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"
)

// Options says who this process is and where the ranks meet: at Addr, or at an
// address that rank 0 chooses and leaves in File.
type Options struct {
	Rank      int // 0 <= Rank < WorldSize
	WorldSize int

	// Addr is where rank 0 listens and the others connect, "127.0.0.1:29500".
	Addr string
	// File is a path for this job alone, used when Addr is empty. Rank 0 listens
	// on a free loopback port and writes the file, readable by its user only;
	// the others wait for it. Rank 0 fails when the file exists, and removes it
	// when all have joined.
	File string
	// Key is known to the ranks of this job and to nobody else; who does not
	// know it is turned away. With File an empty Key is replaced by a random
	// one, which the file carries.
	Key string

	// Timeout bounds Join and every operation whose context has no deadline;
	// 0 means one minute.
	Timeout time.Duration
	// MaxPayload bounds what one rank sends in one operation, in bytes; 0 means
	// 16 MiB.
	MaxPayload int
}

func (o Options) validate() error {
	var errs []error
	if o.WorldSize < 1 || o.Rank < 0 || o.Rank >= o.WorldSize {
		errs = append(errs, fmt.Errorf("rank %d of %d: want 0 <= rank < world size", o.Rank, o.WorldSize))
	}
	if o.WorldSize > 1 && (o.Addr == "") == (o.File == "") {
		errs = append(errs, fmt.Errorf("address %q and file %q: want one of them, the same on every rank", o.Addr, o.File))
	}
	if o.Addr != "" {
		if _, _, err := net.SplitHostPort(o.Addr); err != nil {
			errs = append(errs, fmt.Errorf("address %q: want host:port", o.Addr))
		}
	}
	if o.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout %v: want a time above 0, or 0 for the default", o.Timeout))
	}
	if o.MaxPayload < 0 || o.MaxPayload > 1<<30 {
		errs = append(errs, fmt.Errorf("largest payload %d: want bytes up to 1 GiB, or 0 for the default", o.MaxPayload))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("lens: loopback: %w", err)
	}
	return nil
}

// Join meets the other ranks and returns when all of them are there. It opens
// connections and, on rank 0, a listener for as long as it runs; the group has
// one goroutine for each connection until Close.
//
// An error names the ranks that did not come, or what rank 0 had against this
// one. Rank 0 turns strangers away and goes on waiting.
func Join(ctx context.Context, o Options) (*Group, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.MaxPayload == 0 {
		o.MaxPayload = 16 << 20
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	switch {
	case o.WorldSize == 1:
		return newGroup(o, nil), nil
	case o.Rank == 0:
		return gather(ctx, o)
	default:
		return connect(ctx, o)
	}
}

// gather is rank 0's half of the rendezvous.
func gather(ctx context.Context, o Options) (_ *Group, err error) {
	addr := o.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
		if o.Key == "" {
			o.Key = rand.Text()
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("lens: loopback: rank 0 cannot listen on %s: %w", addr, err)
	}
	defer func() { _ = l.Close() }()
	if o.File != "" {
		if err := writeMeeting(o.File, meeting{Addr: l.Addr().String(), Key: o.Key}); err != nil {
			return nil, err
		}
		defer removeMeeting(o.File)
	}
	peers, err := admit(ctx, o, l)
	if err != nil {
		return nil, err
	}
	g := newGroup(o, peers)
	for _, p := range peers {
		if err := p.send(ctx, frame{kind: kindWelcome}); err != nil {
			g.fail(blame(p.rank, "the connection was lost while the ranks met: %w", err))
			_ = g.Close()
			return nil, g.err
		}
	}
	return g, nil
}
