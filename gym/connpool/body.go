package connpool

import (
	"io"
	"sync/atomic"
)

// slotBody is a response body that gives its slot back once: at its end, at a read error or when it is closed.
type slotBody struct {
	io.ReadCloser
	limiter  *limiter
	host     *hostSlots
	released atomic.Bool
}

// holdSlot wraps body. The body of a 101 response is also a writer and stays one.
func holdSlot(body io.ReadCloser, l *limiter, h *hostSlots) io.ReadCloser {
	b := &slotBody{ReadCloser: body, limiter: l, host: h}
	if w, ok := body.(io.Writer); ok {
		return &slotConn{slotBody: b, Writer: w}
	}
	return b
}

type slotConn struct {
	*slotBody
	io.Writer
}

func (b *slotBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.release()
	}
	return n, err
}

func (b *slotBody) Close() error {
	defer b.release() // after the connection is back among the idle ones, so that the next in line finds it there
	return b.ReadCloser.Close()
}

func (b *slotBody) release() {
	if b.released.CompareAndSwap(false, true) {
		b.limiter.release(b.host)
	}
}
