// Package children has what the examples that start other processes share: the
// standard error of several processes as whole lines, and what they have exported
// to files.
package children

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Lines lets several processes write to one writer, whole lines only, each behind
// a prefix of its own.
type Lines struct {
	mu sync.Mutex
	w  io.Writer
}

// NewLines returns Lines that write to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w} }

// From returns the writer of one process, to be closed when it has ended.
func (l *Lines) From(prefix string) io.WriteCloser { return &prefixed{lines: l, prefix: prefix} }

type prefixed struct {
	lines  *Lines
	prefix string
	rest   []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, found := bytes.Cut(p.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		p.line(line)
		p.rest = rest
	}
}

// Close writes what the last line break left over.
func (p *prefixed) Close() error {
	if len(p.rest) > 0 {
		p.line(p.rest)
		p.rest = nil
	}
	return nil
}

func (p *prefixed) line(text []byte) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	_, _ = fmt.Fprintf(p.lines.w, "%s%s\n", p.prefix, text)
}
