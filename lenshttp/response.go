//go:build !lens_noop

package lenshttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
)

// response is what a handler has done with its writer.
type response struct {
	code     atomic.Int32 // the final one; 0 while there is none
	bytes    atomic.Int64
	hijacked atomic.Bool
}

func (s *response) status() int { return int(s.code.Load()) }

// began notes the first code that is not informational.
func (s *response) began(code int) {
	if code >= 200 || code == http.StatusSwitchingProtocols {
		s.code.CompareAndSwap(0, int32(code))
	}
}

func (s *response) wrote(n int64, err error) {
	if !errors.Is(err, http.ErrHijacked) {
		s.began(http.StatusOK)
	}
	s.bytes.Add(n)
}

// track returns inner, which is otelhttp's form of w, with exactly the optional
// interfaces of w.
func (s *response) track(w, inner http.ResponseWriter) http.ResponseWriter {
	return httpsnoop.Wrap(inner, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				next(code)
				s.began(code)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) {
				n, err := next(b)
				s.wrote(int64(n), err)
				return n, err
			}
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(text string) (int, error) {
				n, err := next(text)
				s.wrote(int64(n), err)
				return n, err
			}
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) {
				n, err := next(src)
				s.wrote(n, err)
				return n, err
			}
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				next()
				s.wrote(0, nil)
			}
		},
		FlushError: func(httpsnoop.FlushErrorFunc) httpsnoop.FlushErrorFunc {
			// otelhttp's form calls Flush and so has no error to return.
			flush := w.(interface{ FlushError() error })
			return func() error {
				if s.status() == 0 && !s.hijacked.Load() {
					inner.WriteHeader(http.StatusOK)
					s.began(http.StatusOK)
				}
				return flush.FlushError()
			}
		},
		Hijack: func(next httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) {
				conn, rw, err := next()
				if err == nil {
					s.hijacked.Store(true)
				}
				return conn, rw, err
			}
		},
	})
}
