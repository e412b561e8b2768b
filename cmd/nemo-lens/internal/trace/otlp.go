package trace

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/jsonscan"
)

// resourceSpans reads {resource, scopeSpans}, in either order.
func (r *Reader) resourceSpans() {
	s := &r.scan
	process, known := uint32(0), false
	var later []int // scopeSpans that came before the resource
	s.Fields(func(key []byte) {
		switch string(key) {
		case "resource":
			process, known = r.process(false), true
		case "scopeSpans", "scope_spans":
			if !known {
				later = append(later, s.Pos())
				s.Skip()
				return
			}
			r.scopeSpans(process)
		default:
			s.Skip()
		}
	})
	if len(later) == 0 || s.Err() != nil {
		return
	}
	if !known {
		process = r.unknownProcess()
	}
	end := s.Pos()
	for _, at := range later {
		s.Seek(at)
		r.scopeSpans(process)
	}
	s.Seek(end)
}

func (r *Reader) scopeSpans(process uint32) {
	s := &r.scan
	s.Elements(func() {
		s.Fields(func(key []byte) {
			switch string(key) {
			case "spans":
				s.Elements(func() { r.otlpSpan(process) })
			default:
				s.Skip()
			}
		})
	})
}

func (r *Reader) otlpSpan(process uint32) {
	s := &r.scan
	span := Span{Process: process, Step: None}
	var trace [16]byte
	var end int64
	named := false
	r.attrText = append(r.attrText[:0], '{')
	s.Fields(func(key []byte) {
		switch string(key) {
		case "traceId", "trace_id":
			trace = traceID(s.Text())
		case "spanId", "span_id":
			span.ID = spanID(s.Text())
		case "parentSpanId", "parent_span_id":
			span.ParentID = spanID(s.Text())
		case "name":
			text := s.Text()
			span.Name, named = r.Store.Names.Number(text), len(text) > 0
		case "startTimeUnixNano", "start_time_unix_nano":
			span.Start = s.Int()
		case "endTimeUnixNano", "end_time_unix_nano":
			end = s.Int()
		case "attributes":
			s.Elements(func() { r.otlpAttribute(&span) })
		case "status":
			r.otlpStatus(&span)
		default:
			s.Skip()
		}
	})
	if s.Err() != nil {
		return // what was read of it may be anything
	}
	span.Trace = r.Store.trace(trace)
	r.store(span, end, named, append(r.attrText, '}'))
}

func (r *Reader) otlpStatus(span *Span) {
	s := &r.scan
	s.Fields(func(key []byte) {
		switch string(key) {
		case "code":
			failed := false
			if s.Kind() == jsonscan.String {
				failed = string(s.Text()) == "STATUS_CODE_ERROR"
			} else {
				failed = s.Int() == 2
			}
			if failed {
				span.Flags |= FlagError
			}
		case "message":
			r.keepText("status", s.Text())
		default:
			s.Skip()
		}
	})
}

// otlpAttribute reads {key, value: {xValue: …}}.
func (r *Reader) otlpAttribute(span *Span) {
	s := &r.scan
	start := s.Pos()
	r.keyValue(func(which attributeKind) {
		s.Fields(func(kind []byte) {
			switch {
			case which == noAttribute:
				s.Skip()
			case string(kind) == "intValue", string(kind) == "int_value":
				r.number(span, which, s.Int())
			case string(kind) == "stringValue", string(kind) == "string_value":
				r.text(span, which, s.Text())
			case which == attrTruncated:
				span.Flags |= FlagTruncated
				s.Skip()
			default:
				s.Skip()
			}
		})
	})
	if r.Store.AttrTexts != nil && s.Err() == nil {
		r.keepOTLP(start)
	}
}

// keyValue reads one attribute and calls value where its value is, once the key is known.
func (r *Reader) keyValue(value func(which attributeKind)) {
	s := &r.scan
	which, seen, later := noAttribute, false, -1
	s.Fields(func(key []byte) {
		switch string(key) {
		case "key":
			which, seen = attributeFor(s.Text()), true
		case "value":
			if !seen {
				later = s.Pos()
				s.Skip()
				return
			}
			value(which)
		default:
			s.Skip()
		}
	})
	if later >= 0 && s.Err() == nil {
		end := s.Pos()
		s.Seek(later)
		value(which)
		s.Seek(end)
	}
}

// traceID takes 32 hexadecimal digits, or base64 as plain protobuf JSON has it;
// anything else is zero.
func traceID(text []byte) (id [16]byte) {
	if len(text) == 32 {
		if _, err := hex.Decode(id[:], text); err != nil {
			return [16]byte{}
		}
		return id
	}
	var decoded [18]byte
	if len(text) != 24 {
		return id
	}
	if n, err := base64.StdEncoding.Decode(decoded[:], text); err == nil && n == 16 {
		copy(id[:], decoded[:])
	}
	return id
}

func spanID(text []byte) uint64 {
	var raw [9]byte
	switch len(text) {
	case 16:
		if _, err := hex.Decode(raw[:8], text); err != nil {
			return 0
		}
	case 12:
		if n, err := base64.StdEncoding.Decode(raw[:], text); err != nil || n != 8 {
			return 0
		}
	default:
		return 0
	}
	return binary.BigEndian.Uint64(raw[:8])
}

func (r *Reader) unknownProcess() uint32 { return r.Store.process(Process{Rank: None, World: None}) }

// process reads a resource, which as a rule was there before, text for text.
func (r *Reader) process(console bool) uint32 {
	s := &r.scan
	start := s.Pos()
	s.Skip()
	if s.Err() != nil {
		return 0
	}
	text := s.Since(start)
	if n, ok := r.Store.byResource[string(text)]; ok {
		return n
	}
	end := s.Pos()
	s.Seek(start)
	p := Process{Rank: None, World: None}
	if console {
		s.Elements(func() {
			r.consoleAttribute(func(a attributeKind, number int64, text []byte) { p.set(a, number, text) }, nil)
		})
	} else {
		s.Fields(func(key []byte) {
			if string(key) != "attributes" {
				s.Skip()
				return
			}
			s.Elements(func() { r.otlpResourceAttribute(&p) })
		})
	}
	if s.Err() != nil {
		return 0
	}
	s.Seek(end)
	n := r.Store.process(p)
	r.Store.byResource[string(bytes.Clone(text))] = n
	return n
}

func (r *Reader) otlpResourceAttribute(p *Process) {
	s := &r.scan
	r.keyValue(func(which attributeKind) {
		s.Fields(func(kind []byte) {
			switch string(kind) {
			case "intValue", "int_value":
				p.set(which, s.Int(), nil)
			case "stringValue", "string_value":
				p.set(which, 0, s.Text())
			default:
				s.Skip()
			}
		})
	})
}

func (s *Store) process(p Process) uint32 {
	n, ok := s.byIdentity[p]
	if !ok {
		n = uint32(len(s.Processes))
		s.Processes = append(s.Processes, p)
		s.byIdentity[p] = n
	}
	return n
}
