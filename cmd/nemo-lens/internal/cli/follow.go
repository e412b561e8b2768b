package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// pollEvery is how often files are looked at for more.
const pollEvery = 250 * time.Millisecond

// follow prints each span as its line is completed, and the view of all of them
// when it is interrupted, or when standard input ends.
func (v *view) follow(ctx context.Context, files []string) error {
	store, report := trace.NewStore(false), &trace.Report{}
	out := bufio.NewWriter(v.out)
	r := &trace.Reader{Store: store, Report: report, MaxSpans: v.flags.maxSpans, Keep: v.filter.Early()}
	r.OnSpan = func(s *trace.Store, span *trace.Span) {
		if !v.filter.Matches(s, span) {
			return
		}
		step, failed := "", ""
		if span.Step != trace.None {
			step = fmt.Sprintf(" #%d", span.Step)
		}
		if span.Error() {
			failed = " failed"
		}
		p := s.ProcessOf(span)
		fmt.Fprintf(out, "%s %s %s%s %s%s\n", time.Unix(0, span.End()).UTC().Format("15:04:05.000"),
			v.style.Clean(p.Label()), v.style.Clean(s.Name(span)), step, v.style.Duration(span.Duration), failed)
	}
	var tails []*tail
	defer func() {
		for _, t := range tails {
			t.close()
		}
	}()
	for _, name := range files {
		if name != "-" {
			if err := followable(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		tails = append(tails, &tail{name: name, in: v.in})
	}
	report.Files = len(tails)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		open := false
		for _, t := range tails {
			more, err := t.read(r)
			if err != nil {
				return fmt.Errorf("%s: %w", displayName(t.name), plain(err))
			}
			open = open || more
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if !open {
			break
		}
		select {
		case <-ctx.Done():
			open = false
		case <-tick.C:
		}
		if !open {
			break
		}
	}
	store.Resolve(report)
	fmt.Fprintln(out)
	res := &result{view: v, store: store, report: report, selected: v.filter.Select(store)}
	res.compute()
	if err := res.writeText(out); err != nil {
		return err
	}
	return out.Flush()
}

// followable says why lines cannot be expected of a file. One that is not there may come.
func followable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return errors.New("it is a folder; name its files")
	case !info.Mode().IsRegular(): // opening a pipe waits for its writer
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return plain(err)
	}
	defer func() { _ = f.Close() }()
	if isFlight(f, info) {
		return errors.New("it is the file of a flight recorder, to which nothing is appended: view it without --follow")
	}
	return nil
}

// tail reads what is appended to a file, which may not exist yet, and which may
// be replaced by a new one of the same name.
type tail struct {
	name   string
	in     io.Reader // for standard input
	file   *os.File
	offset int64
	number int64
	rest   []byte // of a line that is not complete
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}

// read takes what is there. It returns false when no more can come.
func (t *tail) read(r *trace.Reader) (more bool, err error) {
	if t.name == "-" {
		if t.in == nil {
			return false, nil
		}
		return false, t.take(r, t.in)
	}
	if err := t.reopen(); err != nil || t.file == nil {
		return err == nil, err
	}
	return true, t.take(r, t.file)
}

// reopen opens the file when there is one, anew when it was replaced or cut.
func (t *tail) reopen() error {
	info, err := os.Stat(t.name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a file that was moved away may still be written to
	}
	if err != nil {
		return err
	}
	if t.file != nil {
		have, err := t.file.Stat()
		if err == nil && os.SameFile(have, info) && info.Size() >= t.offset {
			return nil
		}
		t.close()
		t.file, t.offset, t.rest, t.number = nil, 0, nil, 0
	}
	t.file, err = os.Open(t.name)
	return err
}

func (t *tail) take(r *trace.Reader, in io.Reader) error {
	buf := make([]byte, 1<<18)
	for {
		n, err := in.Read(buf)
		t.offset += int64(n)
		r.Report.Bytes += int64(n)
		for data := buf[:n]; len(data) > 0; {
			end := bytes.IndexByte(data, '\n')
			if end < 0 {
				t.rest = append(t.rest, data...)
				break
			}
			line := data[:end]
			if len(t.rest) > 0 {
				t.rest = append(t.rest, line...)
				line = t.rest
			}
			t.number++
			r.Line(func() string { return fmt.Sprintf("%s:%d", displayName(t.name), t.number) }, line, true)
			t.rest, data = t.rest[:0], data[end+1:]
		}
		if len(t.rest) > trace.MaxLine {
			t.rest = nil
			r.Report.TooLong++
		}
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
