//go:build !unix

package otlptest

import "net"

// reservation is only the address of a port that was free a moment ago.
type reservation struct{ addr string }

func reserve(addr string) *reservation {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil
	}
	defer func() { _ = l.Close() }()
	return &reservation{addr: l.Addr().String()}
}

func (*reservation) release() {}
