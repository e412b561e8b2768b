package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/jsonscan"
	"github.com/nemo-lens/lens/internal/flight"
)

const (
	// MaxLine bounds the memory that one line can ask for, in bytes. A batch of
	// 512 spans is as a rule less than a megabyte.
	MaxLine = 64 << 20

	// maxAttrs bounds the memory of kept attributes.
	maxAttrs = 256 << 20

	blockSize = 1 << 20
)

// Reader puts the spans of files into a store. Fill the fields, then call Read
// for each input and Store.Resolve at the end.
type Reader struct {
	Store  *Store
	Report *Report

	// MaxSpans bounds the memory; spans above it are counted. 0: no bound.
	MaxSpans int

	// Keep decides on a span as soon as it is read; nil keeps all.
	Keep func(*Store, *Span) bool

	// OnSpan is called with each span that was stored.
	OnSpan func(*Store, *Span)

	// Progress is called about once for each megabyte of input. May be nil.
	Progress func(read int64)

	scan     jsonscan.Scanner
	attrText []byte
	attrSize int64
	spans    int64 // seen, kept or not
}

// Read reads one input to its end. For the file of a flight recorder whose process may
// be running there is ReadFlight. The error is that of in, of ctx, or a
// *FormatError when the whole of the input is something other than spans.
func (r *Reader) Read(ctx context.Context, name string, in io.Reader) error {
	r.Report.Files++
	buffered := bufio.NewReaderSize(&counter{in: in, report: r.Report, progress: r.Progress, ctx: ctx}, blockSize)
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("it starts like a gzip file and is none: %w", err)
		}
		buffered = bufio.NewReaderSize(unpacked, blockSize)
	}
	if magic, _ := buffered.Peek(flight.MagicSize); flight.HasMagic(magic) {
		return r.flight(flight.ReadFrom(buffered))
	}
	before := *r.Report
	spans := r.spans
	head, _ := buffered.Peek(512)
	head = bytes.Clone(head)
	err := r.lines(name, buffered)
	if err == nil && r.spans == spans && r.Report.Metrics == before.Metrics && r.Report.Logs == before.Logs {
		if len(bytes.TrimSpace(head)) == 0 && r.Report.Lines == before.Lines {
			return &FormatError{Empty: true, What: "it is empty"}
		}
		// All of it is something else: that is one fault, not one a line.
		first := r.Report.First
		*r.Report = Report{}.keeping(before, *r.Report)
		return &FormatError{What: describe(head), Detail: strings.TrimPrefix(first, name+":")}
	}
	return err
}

// keeping takes what was counted before, and from now only the volume.
func (Report) keeping(before, now Report) Report {
	before.Files, before.Bytes, before.Lines = now.Files, now.Bytes, now.Lines
	return before
}

// lines reads line by line. A line that fits the buffer is not copied.
func (r *Reader) lines(name string, in *bufio.Reader) error {
	var long []byte
	tooLong := false
	for number := int64(1); ; {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if !tooLong && len(long)+len(part) > MaxLine {
				tooLong, long = true, nil
			}
			if !tooLong {
				long = append(long, part...)
			}
			continue
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if len(line) > MaxLine+1 {
			tooLong = true
		}
		whole := len(part) > 0 && part[len(part)-1] == '\n'
		where := func() string { return name + ":" + strconv.FormatInt(number, 10) }
		switch {
		case tooLong:
			r.Report.Lines++
			r.Report.TooLong++
			r.Report.damage(where(), fmt.Sprintf("more than %d MiB", MaxLine>>20))
		case len(line) > 0:
			r.Line(where, line, whole)
		}
		long, tooLong = long[:0], false
		if cap(long) > 4*blockSize {
			long = nil
		}
		number++
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // of gzip
			r.Report.Cut++
			r.Report.damage(where(), "the compressed file is cut off")
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Line reads one line. where is asked only when there is something to say.
func (r *Reader) Line(where func() string, line []byte, whole bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	r.Report.Lines++
	known := r.object(line)
	err := r.scan.Err()
	var syntax *jsonscan.SyntaxError
	switch {
	case err == nil && known:
	case err == nil:
		r.Report.Damaged++
		r.Report.damage(where(), "not a line of spans, metrics or logs")
	case !whole && errors.As(err, &syntax) && syntax.Cut:
		r.Report.Cut++
		r.Report.damage(where(), err.Error())
	default:
		r.Report.Damaged++
		r.Report.damage(where(), err.Error())
	}
}

// object reads one line's object and reports whether it is of a kind that is known.
func (r *Reader) object(line []byte) (known bool) {
	s := &r.scan
	s.Reset(line)
	var console consoleSpan
	isSpan := false
	s.Fields(func(key []byte) {
		switch string(key) {
		case "resourceSpans", "resource_spans":
			known = true
			s.Elements(r.resourceSpans)
		case "resourceMetrics", "resource_metrics", "ScopeMetrics":
			known = true
			r.Report.Metrics++
			s.Skip()
		case "resourceLogs", "resource_logs", "ObservedTimestamp":
			known = true
			r.Report.Logs++
			s.Skip()
		case "SpanContext":
			known, isSpan = true, true
			r.consoleField(&console, key)
		default:
			r.consoleField(&console, key)
		}
	})
	s.End()
	if isSpan && s.Err() == nil {
		r.consoleSpan(&console)
	}
	return known
}

// store takes one span as far as it is of use.
func (r *Reader) store(span Span, end int64, hasName bool, attrs []byte) {
	r.spans++
	if span.ID == 0 || !hasName || span.Start == 0 || r.Store.traceIDs[span.Trace] == ([16]byte{}) {
		r.Report.Unusable++
		return
	}
	if span.Duration = end - span.Start; span.Duration < 0 {
		span.Duration = 0
		span.Flags |= FlagClamped
		r.Report.Clamped++
	}
	span.Parent = None
	if r.Keep != nil && !r.Keep(r.Store, &span) {
		r.Report.Filtered++
		return
	}
	if r.MaxSpans > 0 && r.Store.Len() >= r.MaxSpans {
		r.Report.OverLimit++
		return
	}
	var number uint32
	if t := r.Store.AttrTexts; t != nil && len(attrs) > 2 {
		before := t.Len()
		if r.attrSize+int64(len(attrs)) > maxAttrs {
			r.Report.AttrsOver++
		} else if number = t.Number(attrs); t.Len() > before {
			r.attrSize += int64(len(attrs))
		}
	}
	r.Store.add(span, number)
	r.Report.Spans++
	if r.OnSpan != nil {
		r.OnSpan(r.Store, &span)
	}
}

// counter counts the bytes of an input and ends it when ctx is done.
type counter struct {
	in       io.Reader
	ctx      context.Context
	report   *Report
	progress func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.in.Read(p)
	c.report.Bytes += int64(n)
	if c.progress != nil {
		c.progress(c.report.Bytes)
	}
	return n, err
}
