package wholeline

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// script answers each write with the next entry: how many bytes to take.
type script struct {
	take []int
	buf  bytes.Buffer
}

var errFull = errors.New("disk full")

func (s *script) Write(p []byte) (int, error) {
	n := len(p)
	if len(s.take) > 0 {
		n, s.take = s.take[0], s.take[1:]
	}
	if n >= 0 && n < len(p) {
		s.buf.Write(p[:n])
		return n, errFull
	}
	return s.buf.Write(p)
}

func TestATornLineDamagesOnlyItself(t *testing.T) {
	t.Parallel()
	s := &script{take: []int{-1, 3, 0, -1, -1}}
	w := New(s)
	for i, want := range []struct {
		line string
		n    int
		err  error
	}{
		{"first\n", 6, nil},
		{"second\n", 3, errFull},
		{"third\n", 0, errFull},
		{"fourth\n", 7, nil},
		{"fifth\n", 6, nil},
	} {
		n, err := w.Write([]byte(want.line))
		if n != want.n || !errors.Is(err, want.err) {
			t.Errorf("write %d: got %d, %v; want %d, %v", i, n, err, want.n, want.err)
		}
	}
	if got, want := s.buf.String(), "first\nsec\nfourth\nfifth\n"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
}

func TestANewlineAloneIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	s := &script{take: []int{2, 1, -1}}
	w := New(s)
	for range 3 {
		_, _ = w.Write([]byte("abcd\n"))
	}
	if got, want := s.buf.String(), "ab\n\nabcd\n"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
}

func TestShortWriteWithoutErrorIsAnError(t *testing.T) {
	t.Parallel()
	w := New(writerFunc(func(p []byte) (int, error) { return len(p) - 1, nil }))
	if _, err := w.Write([]byte("abc\n")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v, want %v", err, io.ErrShortWrite)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestNewSharesOneWriter(t *testing.T) {
	t.Parallel()
	w := New(io.Discard)
	if New(w) != w {
		t.Error("New(*Writer) made a second one")
	}
	for _, w := range []*Writer{New(nil), nil} {
		if _, err := w.Write([]byte("x\n")); err == nil {
			t.Errorf("%v: writing to nothing succeeded", w)
		}
	}
}

func TestConcurrentLinesStayWhole(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w := New(&buf)
	var wg sync.WaitGroup
	for i := range 8 {
		line := strings.Repeat(string(rune('a'+i)), 300) + "\n"
		wg.Go(func() {
			for range 50 {
				if _, err := w.Write([]byte(line)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	if len(lines) != 400 {
		t.Fatalf("%d lines, want 400", len(lines))
	}
	for _, l := range lines {
		if strings.Trim(l, l[:1]) != "" || len(l) != 300 {
			t.Fatalf("torn line %q", l)
		}
	}
}
