// Package wholeline writes complete lines: one Write of the destination for
// each, never torn by another goroutine, another writer of the same pipe in
// this process, or another process of the same job that also writes through
// this package.
//
// What holds where:
//   - Regular files and terminals: the kernel keeps one write together. A file
//     that several processes open for themselves must be opened with O_APPEND.
//   - Pipes and sockets on Unix: the kernel keeps only short writes together
//     (4096 bytes on Linux), so each line is written under an advisory lock of
//     the file (fcntl, held for that one write, released by the kernel when a
//     process dies). Where the system refuses such a lock, as it may outside
//     Linux, the line is written without it.
//   - Anything else: one Write under a mutex of the Writer.
//
// A closed pipe is an error and never a signal: writing to descriptor 1 or 2
// with os.File ends a Go program with SIGPIPE, and telemetry must not do that.
package wholeline

import (
	"errors"
	"io"
	"os"
	"sync"
)

// Writer passes each line on in one Write. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	torn bool
	buf  []byte
}

// New wraps w, or gives w back when it is a *Writer already, so that exporters
// that share a destination share its lock too. A nil w fails every write.
func New(w io.Writer) *Writer {
	if lw, ok := w.(*Writer); ok && lw != nil {
		return lw
	}
	return &Writer{w: w}
}

// Write writes line, which should end with a newline, and reports a short write
// as an error. When part of a line got out before a failure (a disk that filled
// up), the next line starts on a fresh line, so that only the failed one is
// damaged.
func (w *Writer) Write(line []byte) (int, error) {
	if w == nil || w.w == nil {
		return 0, errors.New("lens: no destination to write to: the writer is nil")
	}
	w.mu.Lock()
	defer w.mu.Unlock()

	out, extra := line, 0
	if w.torn {
		w.buf = append(append(w.buf[:0], '\n'), line...)
		out, extra = w.buf, 1
	}
	n, err := write(w.w, out)
	if n < len(out) && err == nil {
		err = io.ErrShortWrite
	}
	switch {
	case n == len(out):
		w.torn = false
	case n > extra || n > 0 && !w.torn:
		w.torn = true
	}
	if cap(w.buf) > 64<<10 {
		w.buf = nil
	}
	return max(n-extra, 0), err
}

func write(w io.Writer, p []byte) (int, error) {
	if f, ok := w.(*os.File); ok {
		return writeFile(f, p)
	}
	return w.Write(p)
}
