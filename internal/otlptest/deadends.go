package otlptest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// ClosedAddr returns a loopback "host:port" at which nobody listens and, on Unix, nobody else will until
// the test is done: connecting is refused at once.
func ClosedAddr(tb testing.TB) string {
	tb.Helper()
	r := reserve(anyPort)
	if r == nil {
		tb.Fatal("otlptest: no loopback port to reserve")
	}
	tb.Cleanup(r.release)
	return r.addr
}

// SilentAddr returns the "host:port" of a listener that accepts every TCP connection and then neither
// reads nor writes, until the test is done.
func SilentAddr(tb testing.TB) string {
	tb.Helper()
	var cfg net.ListenConfig
	l, err := cfg.Listen(context.Background(), "tcp", anyPort)
	if err != nil {
		tb.Fatalf("otlptest: listen on loopback: %v", err)
	}
	var accepting sync.WaitGroup
	var conns []net.Conn
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns = append(conns, c)
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return l.Addr().String()
}
