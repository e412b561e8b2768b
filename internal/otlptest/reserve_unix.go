//go:build unix

package otlptest

import (
	"net/netip"
	"sync"
	"syscall"
)

// reservation holds a port without listening on it, so that connecting to it is refused and no other
// process is given it.
type reservation struct {
	addr string
	fd   int
	once sync.Once
}

// reserve binds an IPv4 "host:port", where port 0 is any. It returns nil when that fails.
func reserve(addr string) *reservation {
	want, err := netip.ParseAddrPort(addr)
	if err != nil || !want.Addr().Is4() {
		return nil
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil
	}
	r := &reservation{fd: fd}
	if err := r.bind(want); err != nil {
		r.release()
		return nil
	}
	return r
}

func (r *reservation) bind(want netip.AddrPort) error {
	// Closed connections of the port linger for a while and must not keep us from it.
	if err := syscall.SetsockoptInt(r.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := syscall.Bind(r.fd, &syscall.SockaddrInet4{Port: int(want.Port()), Addr: want.Addr().As4()}); err != nil {
		return err
	}
	name, err := syscall.Getsockname(r.fd)
	if err != nil {
		return err
	}
	got, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return syscall.EAFNOSUPPORT
	}
	r.addr = netip.AddrPortFrom(netip.AddrFrom4(got.Addr), uint16(got.Port)).String()
	return nil
}

func (r *reservation) release() { r.once.Do(func() { _ = syscall.Close(r.fd) }) }
