// Package served knows what an HTTP handler has done: with the writer that it
// was given, and with its copy of the request.
package served

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
)

// Answer is what the caller of a handler gets. A code that was written when
// nobody waited any more, or to a writer that refused it, is none.
type Answer struct {
	ctx      context.Context // of the request
	code     atomic.Int32    // the final one; 0 while there is none
	bytes    atomic.Int64
	hijacked atomic.Bool
	unsent   atomic.Bool
}

// NewAnswer begins the answer to a request with this context.
func NewAnswer(ctx context.Context) *Answer { return &Answer{ctx: ctx} }

// Begin is NewAnswer for an Answer that is part of something else.
func (a *Answer) Begin(ctx context.Context) { a.ctx = ctx }

// Status returns the final code, and 0 while there is none or when it was not sent.
func (a *Answer) Status() int {
	if a.unsent.Load() {
		return 0
	}
	return int(a.code.Load())
}

// Implied returns Status, or the 200 that net/http sends when the handler has
// returned and has neither answered nor taken the connection over.
func (a *Answer) Implied() int {
	if code := a.Status(); code != 0 || a.unsent.Load() || a.hijacked.Load() || a.ctx.Err() != nil {
		return code
	}
	return http.StatusOK
}

// Bytes returns the size of the body as far as it was sent.
func (a *Answer) Bytes() int64 {
	if a.unsent.Load() {
		return 0
	}
	return a.bytes.Load()
}

// Unsent reports whether there was an answer that the caller cannot have got.
func (a *Answer) Unsent() bool { return a.unsent.Load() }

// Settle asks the handler's writer, after the handler has returned in time or
// too late, whether it still takes the answer: http.TimeoutHandler collects one
// and throws it away when it has sent its own.
func (a *Answer) Settle(w http.ResponseWriter) {
	if a.ctx.Err() == nil || a.Status() == 0 || a.hijacked.Load() || a.Status() == http.StatusSwitchingProtocols {
		return
	}
	if _, err := w.Write(nil); refused(err) {
		a.unsent.Store(true)
	}
}

// began notes the first code that is not informational. After the request was
// cancelled it reaches nobody. A deadline is different: the handler may be the
// one that tells the caller.
func (a *Answer) began(code int) {
	if code < 200 && code != http.StatusSwitchingProtocols {
		return
	}
	if a.code.Load() == 0 && errors.Is(a.ctx.Err(), context.Canceled) {
		a.unsent.Store(true)
		return
	}
	a.code.CompareAndSwap(0, int32(code))
}

func (a *Answer) wrote(n int64, err error) {
	switch {
	case errors.Is(err, http.ErrHijacked):
	case err == nil || n > 0 || errors.Is(err, http.ErrBodyNotAllowed) || errors.Is(err, http.ErrContentLength):
		a.began(http.StatusOK) // the last two are the handler's fault, and the head is sent
		a.bytes.Add(n)
	case a.bytes.Load() == 0:
		a.unsent.Store(true)
	}
	if refused(err) {
		a.unsent.Store(true)
	}
}

// copied is wrote for a copy, whose error may be that of its source. One that
// copied nothing has sent no code either.
func (a *Answer) copied(n int64, err error) {
	if n > 0 || refused(err) {
		a.wrote(n, err)
	}
}

// refused reports whether an error of a writer says that all of the answer, also
// what was written before, is thrown away.
func refused(err error) bool {
	return errors.Is(err, http.ErrHandlerTimeout) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Track returns inner, which is w or a wrapper of it, with exactly the optional
// interfaces of w.
func (a *Answer) Track(w, inner http.ResponseWriter) http.ResponseWriter {
	return httpsnoop.Wrap(inner, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				next(code)
				a.began(code)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) {
				n, err := next(b)
				a.wrote(int64(n), err)
				return n, err
			}
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(text string) (int, error) {
				n, err := next(text)
				a.wrote(int64(n), err)
				return n, err
			}
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) {
				n, err := next(src)
				a.copied(n, err)
				return n, err
			}
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				next()
				a.wrote(0, nil)
			}
		},
		FlushError: func(httpsnoop.FlushErrorFunc) httpsnoop.FlushErrorFunc {
			// A wrapper such as otelhttp's calls Flush and so has no error to return.
			flush := w.(interface{ FlushError() error })
			return func() error {
				if a.code.Load() == 0 && !a.hijacked.Load() {
					inner.WriteHeader(http.StatusOK)
					a.began(http.StatusOK)
				}
				err := flush.FlushError()
				if refused(err) {
					a.unsent.Store(true)
				}
				return err
			}
		},
		Hijack: func(next httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) {
				conn, rw, err := next()
				if err == nil {
					a.hijacked.Store(true)
				}
				return conn, rw, err
			}
		},
	})
}
