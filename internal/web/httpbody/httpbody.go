// Package httpbody keeps the optional interfaces of the body of an HTTP
// response. That of a 101 answer is a connection: it is written to, and its
// sending side is closed on its own.
package httpbody

import "io"

type closeWriter interface{ CloseWrite() error }

// Writable reports whether a body is a connection that has switched protocols.
// Whoever got it owns the connection: it outlives the context of the request.
func Writable(body io.ReadCloser) bool {
	_, ok := body.(io.Writer)
	return ok
}

// Like returns outer, which wraps inner, as an [io.Writer] and with a
// CloseWrite method exactly where inner has them.
func Like(inner, outer io.ReadCloser) io.ReadCloser {
	w, writes := inner.(io.Writer)
	c, closes := inner.(closeWriter)
	switch {
	case writes && closes:
		return struct {
			io.ReadCloser
			io.Writer
			closeWriter
		}{outer, w, c}
	case writes:
		return struct {
			io.ReadCloser
			io.Writer
		}{outer, w}
	case closes:
		return struct {
			io.ReadCloser
			closeWriter
		}{outer, c}
	}
	return outer
}
