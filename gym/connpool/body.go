package connpool

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/nemo-lens/lens/internal/web/httpbody"
)

// slotBody is a response body that gives its slot back once: at its end, at a read error, when it is closed, or when
// the context of the request ends.
type slotBody struct {
	io.ReadCloser
	limiter  *limiter
	host     *hostSlots
	released atomic.Bool
	stop     func() bool // ends the watch of the context; nil without one
}

// holdSlot wraps body. The body of a 101 response is also a connection and stays one, whatever becomes of ctx; any
// other connection is closed by net/http when ctx ends.
func holdSlot(ctx context.Context, body io.ReadCloser, l *limiter, h *hostSlots) io.ReadCloser {
	b := &slotBody{ReadCloser: body, limiter: l, host: h}
	if !httpbody.Writable(body) && ctx.Done() != nil {
		b.stop = context.AfterFunc(ctx, b.giveBack)
	}
	return httpbody.Like(body, b)
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
	if b.stop != nil {
		b.stop()
	}
	b.giveBack()
}

func (b *slotBody) giveBack() {
	if b.released.CompareAndSwap(false, true) {
		b.limiter.release(b.host)
	}
}
