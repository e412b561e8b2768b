package loopback

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"
)

// meeting is what the rendezvous file holds.
type meeting struct {
	Addr string `json:"addr"`
	Key  string `json:"key"`
}

func writeMeeting(path string, m meeting) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("lens: loopback: rendezvous file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("lens: loopback: rendezvous file: %w: give every job a path of its own", err)
	}
	if err != nil {
		return fmt.Errorf("lens: loopback: rendezvous file: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		removeMeeting(path)
		return fmt.Errorf("lens: loopback: rendezvous file: %w", err)
	}
	return nil
}

func removeMeeting(path string) { _ = os.Remove(path) }

// parseMeeting fails on a file that is still being written, too.
func parseMeeting(data []byte) (meeting, error) {
	var m meeting
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("rendezvous file of %d bytes: %w", len(data), err)
	}
	if _, _, err := net.SplitHostPort(m.Addr); err != nil {
		return m, fmt.Errorf("rendezvous file: address %q: want host:port", m.Addr)
	}
	return m, nil
}

// Between two attempts to reach rank 0.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 200 * time.Millisecond
)

// connect is the other ranks' half of the rendezvous. It tries until ctx is
// done, because rank 0 may start later, but not after a refusal.
func connect(ctx context.Context, o Options) (*Group, error) {
	pause := firstPause
	for attempts := 1; ; attempts++ {
		p, final, err := reach(ctx, o)
		if err == nil {
			return newGroup(o, []*peer{p}), nil
		}
		if final {
			return nil, &RankError{Rank: 0, Err: err}
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, blame(0, "rank %d could not join it in %d attempts: %w; the last one: %v", o.Rank, attempts, ctx.Err(), err)
		}
		pause = min(2*pause, maxPause)
	}
}

// reach makes one attempt. An error is final when rank 0 itself has spoken.
func reach(ctx context.Context, o Options) (_ *peer, final bool, err error) {
	m := meeting{Addr: o.Addr, Key: o.Key}
	if o.File != "" {
		data, err := os.ReadFile(o.File)
		if err != nil {
			return nil, false, fmt.Errorf("rendezvous file: %w", err)
		}
		if m, err = parseMeeting(data); err != nil {
			return nil, false, err
		}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.Addr)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	hello, err := json.Marshal(greeting{WorldSize: o.WorldSize, Key: m.Key})
	if err != nil {
		return nil, true, err
	}
	p := newPeer(0, conn, bufio.NewReader(conn))
	if err := p.send(ctx, frame{kind: kindHello, arg: uint32(o.Rank), payload: hello}); err != nil {
		return nil, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	f, err := readFrame(p.r, maxGreeting)
	if !stop() && err == nil {
		return nil, false, ctx.Err()
	}
	switch {
	case err != nil:
		return nil, false, err
	case f.kind == kindWelcome:
		return p, false, nil
	case f.kind == kindAbort:
		return nil, true, errors.New(f.text())
	default:
		return nil, true, fmt.Errorf("a %v frame from %s, want welcome: another program may listen there", f.kind, m.Addr)
	}
}
