package flight

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// File is what a file says of its process.
type File struct {
	RunID, Host, Service string
	Rank, WorldSize      int
	Restart              int
	PID                  int64
	Start                time.Time // of the recording

	LastSeen time.Time     // the last sign of life; zero if there is none
	Lived    time.Duration // from Start to LastSeen, by the monotonic clock
	Closed   time.Time     // zero unless the process ended in order

	Open  []Span // earliest start first
	Ended []Span // latest end first

	// CompleteSince is when the oldest span ended of those after which none has been
	// overwritten; zero when none was.
	CompleteSince time.Time

	// StartedCount and EndedCount count the spans that had a slot, up to LastSeen.
	StartedCount, EndedCount uint64
	// Missed counts the spans that had no slot, MissedOpen those of them that are
	// open.
	Missed, MissedOpen uint64
	// Unfinished counts the slots that were being filled.
	Unfinished int
	// Absent counts the slots that the file should have and does not.
	Absent int
}

// Span is a span of a file.
type Span struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	ParentID   trace.SpanID // all zero for a root span
	Name       string
	Group      string
	Start      time.Time
	End        time.Time // zero while open
	Status     codes.Code
	Attributes []attribute.KeyValue
	// Cut reports that name or group are longer than what is here, and Missing
	// that there are more attributes.
	Cut, Missing bool

	lived time.Duration // of the process, at the last sign of life before the start
}

// ClockJump returns by how much the wall clock of the machine went forward, or, below
// 0, back, beside the time that passed. Less than a second counts as 0.
func (f *File) ClockJump() time.Duration {
	jump := f.LastSeen.Sub(f.Start) - f.Lived
	if f.LastSeen.IsZero() || jump.Abs() < time.Second {
		return 0
	}
	return jump
}

// Age returns how long an open span was open at the last sign of life. When the wall
// clock jumped it is right to a second.
func (f *File) Age(s *Span) time.Duration {
	if f.ClockJump() != 0 {
		return max(f.Lived-s.lived, 0)
	}
	seen := f.LastSeen
	if f.Closed.After(seen) {
		seen = f.Closed
	}
	return max(seen.Sub(s.Start), 0)
}

// A FormatError says why bytes are not those of a file of this package.
type FormatError struct{ Reason string }

func (e *FormatError) Error() string { return e.Reason }

func malformed(format string, args ...any) error {
	return &FormatError{fmt.Sprintf(format, args...)}
}

const maxFileSize = headerSize + MaxSlots*slotSize

// MagicSize is how many bytes HasMagic looks at.
const MagicSize = len(magic)

// HasMagic reports whether a file with this beginning is that of a flight recorder.
func HasMagic(head []byte) bool {
	return len(head) >= MagicSize && string(head[:MagicSize]) == magic
}

// ReadFrom reads a file that nobody writes any more.
func ReadFrom(in io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF): // of a packed file that is cut off
		return nil, err
	case len(data) > maxFileSize:
		return nil, malformed("has more than %d bytes: the file of a flight recorder has at most so many", maxFileSize)
	}
	return Parse(data)
}

// Read reads the file of a process that is dead or alive. The error names the file.
func Read(path string) (*File, error) {
	f, err := read(path)
	if err != nil {
		var named *os.PathError
		if errors.As(err, &named) {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func read(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, malformed("is not a regular file, so it is not the file of a flight recorder")
	case info.Size() > maxFileSize:
		return nil, malformed("has %d bytes: the file of a flight recorder has at most %d", info.Size(), maxFileSize)
	}
	data, err := readAll(file, info.Size())
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	if h.file.Closed.IsZero() {
		if err := h.settle(file, data); err != nil {
			return nil, err
		}
	}
	return h.parse(data), nil
}

func readAll(file *os.File, size int64) ([]byte, error) {
	data := make([]byte, size)
	n, err := io.ReadFull(io.NewSectionReader(file, 0, size), data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return data[:n], nil
}

// settle reads the slots again until each is equal twice, because what is read
// while a process writes is from more than one instant. A slot that changes with
// every reading is left as one that is being filled.
func (h *header) settle(file *os.File, data []byte) error {
	const tries = 8
	again, err := readAll(file, int64(len(data)))
	if err != nil {
		return err
	}
	if copy(data[hBeats:headerSize], again[min(hBeats, len(again)):min(headerSize, len(again))]) > 0 {
		h.parseLife(data)
	}
	for at := headerSize; at+slotSize <= len(data); at += slotSize {
		if at+slotSize > len(again) {
			break
		}
		first, second := data[at:at+slotSize], again[at:at+slotSize]
		for try := 0; !bytes.Equal(first, second) && try < tries; try++ {
			copy(first, second)
			if _, err := file.ReadAt(second, int64(at)); err != nil {
				break
			}
		}
		if !bytes.Equal(first, second) {
			h.order.PutUint64(first[sSequence:], 1)
		}
	}
	return nil
}

// Parse reads the bytes of a file that nobody writes any more.
func Parse(data []byte) (*File, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	return h.parse(data), nil
}

type header struct {
	order binary.ByteOrder
	slots int
	file  File
}

func parseHeader(b []byte) (*header, error) {
	switch {
	case len(b) == 0:
		return nil, malformed("is empty")
	case !HasMagic(b):
		return nil, malformed("is not the file of a flight recorder: it does not begin with %q", magic)
	case len(b) < hRank:
		return nil, malformed("ends after %d bytes, in the middle of its header of %d", len(b), headerSize)
	}
	h := &header{}
	switch uint32(orderMark) {
	case binary.LittleEndian.Uint32(b[hOrder:]):
		h.order = binary.LittleEndian
	case binary.BigEndian.Uint32(b[hOrder:]):
		h.order = binary.BigEndian
	default:
		return nil, malformed("has a damaged header: its byte order cannot be told")
	}
	number := func(at int) uint64 { return uint64(h.order.Uint32(b[at:])) }
	if v := number(hVersion); v != version {
		return nil, malformed("has version %d of the format, and this program reads version %d: read it with the version of lens that wrote it", v, version)
	}
	if len(b) < headerSize {
		return nil, malformed("ends after %d bytes, in the middle of its header of %d", len(b), headerSize)
	}
	slots := number(hSlots)
	if uint32(number(hChecksum)) != checksum(b) {
		return nil, malformed("has a damaged header: its checksum is wrong")
	}
	if number(hHeaderSize) != headerSize || number(hSlotSize) != slotSize || slots > MaxSlots+shardCount {
		return nil, malformed("has a header of %d bytes and %d slots of %d: version %d has %d, at most %d, and %d",
			number(hHeaderSize), slots, number(hSlotSize), version, headerSize, MaxSlots, slotSize)
	}
	h.slots = int(slots)
	f := &h.file
	f.Start = h.time(b, hStart)
	f.PID = int64(h.order.Uint64(b[hPID:]))
	f.Rank, f.WorldSize, f.Restart = int(int32(number(hRank))), int(int32(number(hWorldSize))), int(int32(number(hRestart)))
	at := hTexts
	for _, text := range []*string{&f.RunID, &f.Host, &f.Service} {
		length := int(h.order.Uint16(b[at:]))
		if length > maxText {
			return nil, malformed("has a damaged header: a text of %d bytes", length)
		}
		*text = strings.ToValidUTF8(string(b[at+2:at+2+length]), "\ufffd")
		at += 2 + length
	}
	h.parseLife(b)
	return h, nil
}

// parseLife reads what changes in a header.
func (h *header) parseLife(b []byte) {
	f := &h.file
	latest := uint64(0)
	for cell := hBeats; cell < hClosed; cell += beatSize {
		number := h.order.Uint64(b[cell:])
		if number%2 != 0 || number <= latest {
			continue
		}
		latest = number
		f.LastSeen = h.time(b, cell+8)
		f.Lived = time.Duration(h.order.Uint64(b[cell+16:]))
		f.StartedCount, f.EndedCount = h.order.Uint64(b[cell+24:]), h.order.Uint64(b[cell+32:])
	}
	if h.order.Uint64(b[hClosed:]) != 0 {
		f.Closed = h.time(b, hClosed)
	}
	f.Missed, f.MissedOpen = h.order.Uint64(b[hMissed:]), h.order.Uint64(b[hMissedOpen:])
}

func (h *header) time(b []byte, at int) time.Time {
	return time.Unix(0, int64(h.order.Uint64(b[at:])))
}

func (h *header) parse(b []byte) *File {
	f := &h.file
	oldest := [shardCount]time.Time{}
	fresh := [shardCount]bool{} // has slots that were never used
	for i := range h.slots {
		shard := i / max(h.slots/shardCount, 1) % shardCount
		at := headerSize + i*slotSize
		if at+slotSize > len(b) {
			f.Absent = h.slots - i
			break
		}
		slot := b[at : at+slotSize]
		switch sequence := h.order.Uint64(slot); {
		case sequence == 0:
			fresh[shard] = true
			continue
		case sequence%2 != 0:
			f.Unfinished++
			continue
		}
		s, ok := h.span(slot)
		switch {
		case !ok:
			f.Unfinished++
		case s.End.IsZero():
			f.Open = append(f.Open, s)
		default:
			f.Ended = append(f.Ended, s)
			if oldest[shard].IsZero() || s.End.Before(oldest[shard]) {
				oldest[shard] = s.End
			}
		}
	}
	h.seeSpans()
	for shard, end := range oldest {
		if !fresh[shard] && end.After(f.CompleteSince) {
			f.CompleteSince = end
		}
	}
	slices.SortFunc(f.Open, func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), bytes.Compare(a.SpanID[:], b.SpanID[:]))
	})
	slices.SortFunc(f.Ended, func(a, b Span) int {
		return cmp.Or(b.End.Compare(a.End), bytes.Compare(a.SpanID[:], b.SpanID[:]))
	})
	return f
}

// seeSpans takes what spans did since the last sign of life for a later one. Times that a
// program has given may be far away, so only those count that can be true.
func (h *header) seeSpans() {
	f := &h.file
	seen := f.LastSeen
	for _, spans := range [][]Span{f.Open, f.Ended} {
		for i := range spans {
			for _, at := range []time.Time{spans[i].Start, spans[i].End} {
				if later := at.Sub(f.LastSeen); later > 0 && later <= 2*beatEvery && at.After(seen) {
					seen = at
				}
			}
		}
	}
	f.Lived += seen.Sub(f.LastSeen)
	f.LastSeen = seen
}

// span reads one slot. It reports false when what is there cannot have been written
// by a recorder.
func (h *header) span(b []byte) (s Span, ok bool) {
	name, group := int(b[sNameLen]), int(b[sGroupLen])
	base := sPayload + name + group
	length := h.order.Uint32(b[sAttributes:])
	end := base + int(length&^someMissing)
	if name > maxName || group > maxGroup || end > slotSize || end < base {
		return s, false
	}
	copy(s.TraceID[:], b[sTraceID:])
	copy(s.SpanID[:], b[sSpanID:])
	copy(s.ParentID[:], b[sParentID:])
	s.Start = h.time(b, sStart)
	s.lived = time.Duration(h.order.Uint64(b[sTick:]))
	if word := int64(h.order.Uint64(b[sEnd:])); word != 0 {
		s.End = h.file.Start.Add(time.Duration(word >> endShift))
		switch word & (1<<endShift - 1) {
		case endUnset:
		case endOK:
			s.Status = codes.Ok
		case endError:
			s.Status = codes.Error
		default:
			return s, false
		}
	}
	s.Name = strings.ToValidUTF8(string(b[sPayload:sPayload+name]), "\ufffd")
	s.Group = strings.ToValidUTF8(string(b[sPayload+name:base]), "\ufffd")
	s.Cut, s.Missing = b[sCut] != 0, length&someMissing != 0
	s.Attributes, ok = h.attributes(b[base:end])
	return s, ok
}

func (h *header) attributes(b []byte) (attrs []attribute.KeyValue, ok bool) {
	for len(b) > 0 {
		if len(b) < 3 {
			return nil, false
		}
		key, kind := int(b[0]), b[1]
		b = b[2:]
		size := 8
		if kind >= typeString {
			size = int(b[0])
			b = b[1:]
		}
		if key == 0 || len(b) < size+key {
			return nil, false
		}
		var v attribute.Value
		switch kind {
		case typeBool:
			v = attribute.BoolValue(h.order.Uint64(b) != 0)
		case typeInt:
			v = attribute.Int64Value(int64(h.order.Uint64(b)))
		case typeFloat:
			v = attribute.Float64Value(math.Float64frombits(h.order.Uint64(b)))
		case typeString, typeCut:
			text := strings.ToValidUTF8(string(b[:size]), "\ufffd")
			if kind == typeCut {
				text += "…"
			}
			v = attribute.StringValue(text)
		default:
			return nil, false
		}
		name := attribute.Key(strings.ToValidUTF8(string(b[size:size+key]), "\ufffd"))
		b = b[size+key:]
		// A key that was set again has the later value.
		if i := slices.IndexFunc(attrs, func(kv attribute.KeyValue) bool { return kv.Key == name }); i >= 0 {
			attrs[i].Value = v
			continue
		}
		attrs = append(attrs, attribute.KeyValue{Key: name, Value: v})
	}
	return attrs, true
}
