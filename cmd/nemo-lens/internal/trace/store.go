package trace

import (
	"cmp"
)

// None is the number of what is not there: a parent, a step.
const None = -1

// Flags of a span.
const (
	FlagError     = 1 << iota // its status is Error
	FlagTruncated             // it was still open when its process shut down
	FlagClamped               // it ended before it started, and counts as a moment
	FlagOpen                  // it had not ended at the last sign of life of its process
	FlagRecorded              // it is from the file of a flight recorder

	visiting
	visited
)

// Span is a span that has finished, or one with FlagOpen. Name, Trace, Process, Rollout and Group are numbers
// in the tables of its store.
type Span struct {
	ID       uint64
	ParentID uint64 // 0 for a root
	Start    int64  // nanoseconds since 1970
	Duration int64  // nanoseconds, never negative
	Name     uint32
	Trace    uint32
	Process  uint32
	Parent   int32 // index of the parent, after Resolve; None when it is not in the store
	Step     int32 // None: of no step
	Rollout  uint32
	Group    uint16
	Flags    uint16
}

// End is the time of the end in nanoseconds since 1970.
func (s *Span) End() int64 { return s.Start + s.Duration }

// Open reports whether the span had not ended; its end is then the last sign of life
// of its process.
func (s *Span) Open() bool { return s.Flags&FlagOpen != 0 }

// Error reports whether the span failed.
func (s *Span) Error() bool { return s.Flags&FlagError != 0 }

const chunkSize = 1 << 14

// Store holds spans. Make one with NewStore.
type Store struct {
	Names     *Table
	Rollouts  *Table // 0 is none
	Groups    *Table // 0 is unknown
	Processes []Process

	chunks []*[chunkSize]Span
	count  int

	traces     map[[16]byte]uint32
	traceIDs   [][16]byte
	byResource map[string]uint32 // by the text of the resource
	byIdentity map[Process]uint32
	recorded   map[uint32]recorded // processes that the file of a flight recorder tells of

	// Attributes of the spans as JSON objects, when they are kept.
	attrs     []uint32 // per span
	AttrTexts *Table

	childStart []uint32 // per span and one more: where its children begin
	children   []uint32 // ordered by their start
	roots      []uint32 // spans without a parent in the store, by start
}

// NewStore returns an empty store, which keeps the spans' attributes if it is told to.
func NewStore(keepAttributes bool) *Store {
	s := &Store{
		Names: NewTable(), Rollouts: NewTable(), Groups: NewTable(),
		traces: map[[16]byte]uint32{}, byResource: map[string]uint32{}, byIdentity: map[Process]uint32{},
	}
	s.Rollouts.Number(nil)
	s.Groups.Number(nil)
	if keepAttributes {
		s.AttrTexts = NewTable()
		s.AttrTexts.Number([]byte("{}"))
	}
	return s
}

// Len is the number of spans.
func (s *Store) Len() int { return s.count }

// At is the span with an index below Len. It may be changed only before Resolve.
func (s *Store) At(i int) *Span { return &s.chunks[i/chunkSize][i%chunkSize] }

func (s *Store) add(span Span, attrs uint32) {
	if s.count%chunkSize == 0 && s.count/chunkSize == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkSize]Span))
	}
	*s.At(s.count) = span
	s.count++
	if s.AttrTexts != nil {
		s.attrs = append(s.attrs, attrs)
	}
}

// Attributes are those of a span as the text of a JSON object; empty when they
// were not kept.
func (s *Store) Attributes(i int) string {
	if s.AttrTexts == nil {
		return ""
	}
	return s.AttrTexts.Text(s.attrs[i])
}

// AttributesNumber is the number of Attributes in AttrTexts.
func (s *Store) AttributesNumber(i int) uint32 { return s.attrs[i] }

// Name is the name of a span.
func (s *Store) Name(span *Span) string { return s.Names.Text(span.Name) }

// ProcessOf is the process of a span.
func (s *Store) ProcessOf(span *Span) *Process { return &s.Processes[span.Process] }

func (s *Store) trace(id [16]byte) uint32 {
	n, ok := s.traces[id]
	if !ok {
		n = uint32(len(s.traceIDs))
		s.traceIDs = append(s.traceIDs, id)
		s.traces[id] = n
	}
	return n
}

// TraceID is the id of a trace by its number.
func (s *Store) TraceID(n uint32) [16]byte { return s.traceIDs[n] }

// Traces is the number of traces.
func (s *Store) Traces() int { return len(s.traceIDs) }

// Children are the indices of the spans directly below one, ordered by their start.
func (s *Store) Children(i int) []uint32 { return s.children[s.childStart[i]:s.childStart[i+1]] }

// Roots are the spans whose parents are not in the store, ordered by their start.
func (s *Store) Roots() []uint32 { return s.roots }

// Self is the time of a span in which none of its children ran, in nanoseconds.
// Children that ran at the same time count once, and only inside the span.
func (s *Store) Self(i int) int64 {
	span := s.At(i)
	self, at := span.Duration, span.Start
	for _, c := range s.Children(i) {
		child := s.At(int(c))
		from, to := max(child.Start, at), min(child.End(), span.End())
		if to > from {
			self -= to - from
			at = to
		}
	}
	return self
}

// Bounds are the earliest start and the latest end, both 0 without spans.
func (s *Store) Bounds() (start, end int64) {
	for i := range s.count {
		span := s.At(i)
		if i == 0 || span.Start < start {
			start = span.Start
		}
		if i == 0 || span.End() > end {
			end = span.End()
		}
	}
	return start, end
}

// byStart orders spans by start; of those that start together the longest comes first.
func (s *Store) byStart(a, b uint32) int {
	x, y := s.At(int(a)), s.At(int(b))
	return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.Duration, x.Duration), cmp.Compare(a, b))
}

// Table gives each text a number, from 0 in the order of their first mention.
type Table struct {
	numbers map[string]uint32
	texts   []string
}

// NewTable returns an empty table.
func NewTable() *Table { return &Table{numbers: map[string]uint32{}} }

// Number is the number of a text, a new one for a new text.
func (t *Table) Number(text []byte) uint32 {
	if n, ok := t.numbers[string(text)]; ok {
		return n
	}
	n := uint32(len(t.texts))
	own := string(text)
	t.texts = append(t.texts, own)
	t.numbers[own] = n
	return n
}

// Text is the text of a number.
func (t *Table) Text(n uint32) string { return t.texts[n] }

// Len is the number of texts.
func (t *Table) Len() int { return len(t.texts) }

// Texts are all texts by their numbers, not to be changed.
func (t *Table) Texts() []string { return t.texts }
