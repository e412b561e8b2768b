package otlptest

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// Blackhole returns a loopback "host:port" at which connecting neither succeeds nor fails: its queue of
// connections is full and nobody accepts, so that the system drops further attempts, until the test is
// done. It skips the test where the system does not do that.
func Blackhole(tb testing.TB) string {
	tb.Helper()
	r := reserve(anyPort)
	if r == nil {
		tb.Fatal("otlptest: no loopback port to reserve")
	}
	tb.Cleanup(r.release)
	if err := syscall.Listen(r.fd, 0); err != nil {
		tb.Fatalf("otlptest: listen on %s: %v", r.addr, err)
	}
	const attempts = 8
	for range attempts {
		c, err := net.DialTimeout("tcp", r.addr, 200*time.Millisecond)
		if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
			return r.addr
		}
		if err != nil {
			tb.Fatalf("otlptest: fill the queue of %s: %v", r.addr, err)
		}
		tb.Cleanup(func() { _ = c.Close() })
	}
	tb.Skipf("otlptest: this system still accepts after %d connections that nobody took", attempts)
	return ""
}
