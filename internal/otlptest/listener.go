package otlptest

import (
	"net"
	"sync"
)

// listener knows its open connections, so that one can be reset and the end of all can be awaited.
type listener struct {
	net.Listener

	mu    sync.Mutex
	conns map[string]*conn // by remote address
	open  sync.WaitGroup
}

func newListener(l net.Listener) *listener {
	return &listener{Listener: l, conns: map[string]*conn{}}
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &conn{Conn: c, of: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c.RemoteAddr().String()] = tracked
	l.open.Add(1)
	return tracked, nil
}

// wait returns when every connection is closed. Nothing may be accepted any more.
func (l *listener) wait() { l.open.Wait() }

// reset closes the connection from remote so that the peer sees a reset instead of an end.
func (l *listener) reset(remote string) {
	l.mu.Lock()
	c := l.conns[remote]
	l.mu.Unlock()
	if c == nil {
		return
	}
	if t, ok := c.Conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// conn leaves its listener's table when it is closed.
type conn struct {
	net.Conn
	of   *listener
	once sync.Once
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.of.mu.Lock()
		if key := c.RemoteAddr().String(); c.of.conns[key] == c {
			delete(c.of.conns, key)
		}
		c.of.mu.Unlock()
		c.of.open.Done()
	})
	return err
}
