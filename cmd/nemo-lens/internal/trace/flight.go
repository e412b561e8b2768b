package trace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/nemo-lens/lens/internal/flight"
)

// recorded counts the finished spans that flight recorders of a process have kept, and those that
// they have not.
type recorded struct{ kept, overwritten, noSlot int64 }

// ReadFlight reads the file of a flight recorder, which its process may be writing.
func (r *Reader) ReadFlight(path string) error {
	r.Report.Files++
	if info, err := os.Stat(path); err == nil {
		r.Report.Bytes += info.Size()
	}
	return r.flight(flight.Read(path))
}

// flight takes the spans that the flight recorder of a process kept: the last that
// finished, and those that are open. An open span ends with the last sign of life of its
// process, and has FlagOpen. A span that another file has, too, is taken from there when
// it has finished there, because a recorder shortens names and attributes.
func (r *Reader) flight(f *flight.File, err error) error {
	var format *flight.FormatError
	if errors.As(err, &format) {
		return &FormatError{What: "the file of a flight recorder, which " + format.Reason}
	}
	if err != nil {
		return err
	}
	process := r.Store.process(Process{
		Run: f.RunID, Service: f.Service, Host: f.Host, Rank: small(int64(f.Rank)), World: small(int64(f.WorldSize)), PID: f.PID,
	})
	if r.Store.recorded == nil {
		r.Store.recorded = map[uint32]recorded{}
	}
	of := r.Store.recorded[process]
	kept := int64(len(f.Ended))
	of.kept += kept
	of.overwritten += max(int64(f.EndedCount)-kept, 0)
	of.noSlot += int64(f.Missed)
	r.Store.recorded[process] = of
	r.Report.Recorders++
	r.Report.Slots += int64(f.Unfinished + f.Absent)
	for i := range f.Ended {
		r.flightSpan(process, &f.Ended[i], f.Ended[i].End)
	}
	for i := range f.Open {
		r.flightSpan(process, &f.Open[i], f.Open[i].Start.Add(f.Age(&f.Open[i])))
	}
	return nil
}

func (r *Reader) flightSpan(process uint32, s *flight.Span, end time.Time) {
	span := Span{
		ID: binary.BigEndian.Uint64(s.SpanID[:]), ParentID: binary.BigEndian.Uint64(s.ParentID[:]), Start: s.Start.UnixNano(), Process: process,
		Trace: r.Store.trace(s.TraceID), Name: r.Store.Names.Number([]byte(s.Name)), Step: None, Flags: FlagRecorded,
	}
	if s.End.IsZero() {
		span.Flags |= FlagOpen
	}
	r.attrText = append(r.attrText[:0], '{')
	if s.Group != "" {
		r.text(&span, attrGroup, []byte(s.Group))
		r.keepText(GroupKey, []byte(s.Group))
	}
	for _, kv := range s.Attributes {
		which := attributeFor([]byte(kv.Key))
		switch kv.Value.Type() {
		case attribute.INT64:
			r.number(&span, which, kv.Value.AsInt64())
		case attribute.STRING:
			r.text(&span, which, []byte(kv.Value.AsString()))
		}
		r.keepValue(string(kv.Key), kv.Value)
	}
	if s.Status == codes.Error {
		span.Flags |= FlagError
	}
	r.store(span, end.UnixNano(), s.Name != "", append(r.attrText, '}'))
}

// keepValue adds an attribute to the text of the attributes, when those are kept. A
// number that JSON has no form for becomes text, as in OTLP.
func (r *Reader) keepValue(name string, v attribute.Value) {
	if r.Store.AttrTexts == nil {
		return
	}
	value := v.AsInterface()
	if n, ok := value.(float64); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
		value = v.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return
	}
	r.keepName(appendText(nil, []byte(name)))
	r.attrText = append(r.attrText, text...)
}

// joinRecorded makes one of a process that a flight recorder tells of and the same
// process as other files tell of it. Its recorder does not know the whole resource, and may
// have another name for the host. The process is left alone when more than one could be it.
func (s *Store) joinRecorded() {
	if len(s.recorded) == 0 {
		return
	}
	same := make([]int, len(s.Processes)) // number of the same process, or None
	joined := false
	for i := range s.Processes {
		same[i] = None
		if !s.isRecorded(i) {
			continue
		}
		p := &s.Processes[i]
		for j := range s.Processes {
			q := &s.Processes[j]
			if s.isRecorded(j) || p.Run != q.Run || p.Service != q.Service || p.Rank != q.Rank || p.World != q.World || q.PID != 0 && p.PID != q.PID {
				continue
			}
			if same[i] != None {
				same[i] = None
				break
			}
			same[i] = j
		}
		joined = joined || same[i] != None
	}
	if !joined {
		return
	}
	numbers := make([]uint32, len(s.Processes))
	var kept []Process
	for i, p := range s.Processes {
		if same[i] == None {
			numbers[i] = uint32(len(kept))
			kept = append(kept, p)
		}
	}
	for i, j := range same {
		if j != None {
			numbers[i] = numbers[j]
		}
	}
	all := map[uint32]recorded{}
	for i, more := range s.recorded {
		sum := all[numbers[i]]
		all[numbers[i]] = recorded{sum.kept + more.kept, sum.overwritten + more.overwritten, sum.noSlot + more.noSlot}
	}
	s.Processes, s.recorded = kept, all
	for i := range s.count {
		span := s.At(i)
		span.Process = numbers[span.Process]
	}
}

func (s *Store) isRecorded(process int) bool {
	_, ok := s.recorded[uint32(process)]
	return ok
}

// countUnrecorded reports the spans that flight recorders have not kept, without as many as
// other files have of the same process.
func (s *Store) countUnrecorded(report *Report) {
	if len(s.recorded) == 0 {
		return
	}
	finished := map[uint32]int64{}
	for i := range s.count {
		if span := s.At(i); !span.Open() {
			finished[span.Process]++
		}
	}
	for process, of := range s.recorded {
		elsewhere := max(finished[process]-of.kept, 0)
		overwritten := max(of.overwritten-elsewhere, 0)
		elsewhere -= of.overwritten - overwritten
		report.Overwritten += overwritten
		report.NoSlot += max(of.noSlot-elsewhere, 0)
	}
}
