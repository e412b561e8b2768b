//go:build !lens_noop

package lenshttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/lenshttp"
	"github.com/nemo-lens/lens/lenstest"
)

// plain is a writer without optional interfaces; the parts below add one each.
type plain struct{ *httptest.ResponseRecorder }

type (
	writer  struct{ p *plain }
	flusher struct{ *calls }
	errFl   struct{ *calls }
	hijack  struct{ *calls }
	reader  struct {
		*calls
		io.Writer
	}
	pusher struct{ *calls }
	calls  struct{ flush, flushError, hijack, readFrom, push int }
)

var errFlush = errors.New("flush failed")

func (w writer) Header() http.Header         { return w.p.Header() }
func (w writer) Write(b []byte) (int, error) { return w.p.Write(b) }
func (w writer) WriteHeader(code int)        { w.p.WriteHeader(code) }
func (f flusher) Flush()                     { f.calls.flush++ }
func (f errFl) FlushError() error            { f.calls.flushError++; return errFlush }
func (h hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.calls.hijack++
	return nil, nil, http.ErrNotSupported
}
func (r reader) ReadFrom(src io.Reader) (int64, error) {
	r.calls.readFrom++
	return io.Copy(r.Writer, src)
}
func (p pusher) Push(string, *http.PushOptions) error { p.calls.push++; return nil }

type flushErrorer interface{ FlushError() error }

// writers has one for every combination of the interfaces, by bits: Flusher 1,
// FlushError 2, Hijacker 4, ReaderFrom 8, Pusher 16.
func writers(p *plain, c *calls) map[int]http.ResponseWriter {
	type W = http.ResponseWriter
	w, f, e, h, r, u := W(writer{p}), http.Flusher(flusher{c}), flushErrorer(errFl{c}), http.Hijacker(hijack{c}), io.ReaderFrom(reader{c, p}), http.Pusher(pusher{c})
	type (
		F = http.Flusher
		E = flushErrorer
		H = http.Hijacker
		R = io.ReaderFrom
		U = http.Pusher
	)
	return map[int]W{
		0: w,
		1: struct {
			W
			F
		}{w, f},
		2: struct {
			W
			E
		}{w, e},
		3: struct {
			W
			F
			E
		}{w, f, e},
		4: struct {
			W
			H
		}{w, h},
		5: struct {
			W
			F
			H
		}{w, f, h},
		7: struct {
			W
			F
			E
			H
		}{w, f, e, h},
		8: struct {
			W
			R
		}{w, r},
		9: struct {
			W
			F
			R
		}{w, f, r},
		12: struct {
			W
			H
			R
		}{w, h, r},
		13: struct {
			W
			F
			H
			R
		}{w, f, h, r},
		15: struct {
			W
			F
			E
			H
			R
		}{w, f, e, h, r},
		16: struct {
			W
			U
		}{w, u},
		17: struct {
			W
			F
			U
		}{w, f, u},
		19: struct {
			W
			F
			E
			U
		}{w, f, e, u},
		24: struct {
			W
			R
			U
		}{w, r, u},
		31: struct {
			W
			F
			E
			H
			R
			U
		}{w, f, e, h, r, u},
	}
}

func TestOptionalInterfacesAreKept(t *testing.T) {
	for _, on := range []bool{true, false} {
		for bits := range writers(nil, nil) {
			t.Run(fmt.Sprintf("on=%t/%05b", on, bits), func(t *testing.T) {
				rec := lenstest.Start(t, groupsIf(on)...)
				var did calls
				p := &plain{httptest.NewRecorder()}
				outer := writers(p, &did)[bits]
				lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					f, isFlusher := w.(http.Flusher)
					e, isFlushErrorer := w.(flushErrorer)
					h, isHijacker := w.(http.Hijacker)
					from, isReaderFrom := w.(io.ReaderFrom)
					push, isPusher := w.(http.Pusher)
					require.Equal(t, bits&1 != 0, isFlusher, "Flusher")
					require.Equal(t, bits&2 != 0, isFlushErrorer, "FlushError")
					require.Equal(t, bits&4 != 0, isHijacker, "Hijacker")
					require.Equal(t, bits&8 != 0, isReaderFrom, "ReaderFrom")
					require.Equal(t, bits&16 != 0, isPusher, "Pusher")

					want := calls{}
					if isHijacker {
						want.hijack = 2
						_, _, err := h.Hijack()
						require.ErrorIs(t, err, http.ErrNotSupported)
						_, _, err = http.NewResponseController(w).Hijack()
						require.ErrorIs(t, err, http.ErrNotSupported)
					}
					if isFlusher {
						want.flush = 1
						f.Flush()
					}
					if isFlushErrorer {
						want.flushError = 2
						require.ErrorIs(t, e.FlushError(), errFlush)
						require.ErrorIs(t, http.NewResponseController(w).Flush(), errFlush)
					}
					if isPusher {
						want.push = 1
						require.NoError(t, push.Push("/x", nil))
					}
					if isReaderFrom {
						want.readFrom = 1
						n, err := from.ReadFrom(readFunc(func([]byte) (int, error) { return 0, io.EOF }))
						require.NoError(t, err)
						require.Zero(t, n)
					}
					_, err := io.WriteString(w, "text")
					require.NoError(t, err)
					require.Equal(t, want, did)

					inner := w
					for {
						u, ok := inner.(interface{ Unwrap() http.ResponseWriter })
						if !ok {
							break
						}
						inner = u.Unwrap()
					}
					require.Equal(t, fmt.Sprintf("%T", outer), fmt.Sprintf("%T", inner))
				}), server).ServeHTTP(outer, httptest.NewRequest("GET", "/", nil))
				require.Equal(t, "text", p.Body.String())
				require.Equal(t, 200, p.Code)
				if on {
					require.Equal(t, "4", attrs(rec.One("GET"))["http.response.body.size"])
				}
			})
		}
	}
}

func TestResponseControllerOverTheWire(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", http2), func(t *testing.T) {
			lenstest.Start(t, server)
			srv, stop := start(t, lenshttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c := http.NewResponseController(w)
				fmt.Fprint(w, c.SetReadDeadline(farAway), c.SetWriteDeadline(farAway), c.Flush())
				_, pushes := w.(http.Pusher)
				_, hijacks := w.(http.Hijacker)
				fmt.Fprint(w, " ", pushes, hijacks)
			}), server), http2)
			_, got := get(t, srv.Client(), srv.URL)
			stop()
			require.Equal(t, fmt.Sprintf("<nil> <nil> <nil> %t %t", http2, !http2), got)
		})
	}
}
