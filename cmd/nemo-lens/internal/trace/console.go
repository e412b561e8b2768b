package trace

import (
	"time"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/jsonscan"
)

// consoleSpan is what the console exporter says of a span, found as the members
// of its object come.
type consoleSpan struct {
	span  Span
	trace [16]byte
	end   int64
	named bool
	begun bool
}

// consoleField reads one member of the object of a span.
func (r *Reader) consoleField(c *consoleSpan, key []byte) {
	s := &r.scan
	if !c.begun {
		c.begun = true
		c.span.Step = None
		r.attrText = append(r.attrText[:0], '{')
	}
	switch string(key) {
	case "Name":
		if !isText(s) {
			s.Skip()
			return
		}
		text := s.Text()
		c.span.Name, c.named = r.Store.Names.Number(text), len(text) > 0
	case "SpanContext":
		c.trace, c.span.ID = r.consoleContext()
	case "Parent":
		_, c.span.ParentID = r.consoleContext()
	case "StartTime":
		c.span.Start = r.consoleTime()
	case "EndTime":
		c.end = r.consoleTime()
	case "Attributes":
		if s.Kind() != jsonscan.Array {
			s.Skip()
			return
		}
		s.Elements(func() {
			r.consoleAttribute(func(a attributeKind, number int64, text []byte) {
				if text != nil {
					r.text(&c.span, a, text)
				} else {
					r.number(&c.span, a, number)
				}
			}, r.keepConsole)
		})
	case "Status":
		if s.Kind() != jsonscan.Object {
			s.Skip()
			return
		}
		s.Fields(func(key []byte) {
			switch string(key) {
			case "Code":
				if isText(s) && string(s.Text()) == "Error" {
					c.span.Flags |= FlagError
				}
			case "Description":
				r.keepText("status", s.Text())
			default:
				s.Skip()
			}
		})
	case "Resource":
		if s.Kind() != jsonscan.Array {
			s.Skip()
			return
		}
		c.span.Process = r.process(true)
	default:
		s.Skip()
	}
}

func (r *Reader) consoleSpan(c *consoleSpan) {
	c.span.Trace = r.Store.trace(c.trace)
	if len(r.Store.Processes) == 0 {
		c.span.Process = r.unknownProcess()
	}
	r.store(c.span, c.end, c.named, append(r.attrText, '}'))
}

func (r *Reader) consoleContext() (trace [16]byte, span uint64) {
	s := &r.scan
	if s.Kind() != jsonscan.Object {
		s.Skip()
		return trace, 0
	}
	s.Fields(func(key []byte) {
		switch string(key) {
		case "TraceID":
			trace = traceID(s.Text())
		case "SpanID":
			span = spanID(s.Text())
		default:
			s.Skip()
		}
	})
	return trace, span
}

// consoleTime reads a time as RFC 3339 has it; 0 when it is none.
func (r *Reader) consoleTime() int64 {
	if !isText(&r.scan) {
		r.scan.Skip()
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, string(r.scan.Text()))
	if err != nil || t.Year() < 1971 || t.Year() > 2261 { // what 64 bits of nanoseconds hold
		return 0
	}
	return t.UnixNano()
}

// consoleAttribute reads {Key, Value: {Type, Value}} and hands on what is known,
// and every attribute to keep when that is not nil: its name and its value's text.
func (r *Reader) consoleAttribute(take func(a attributeKind, number int64, text []byte), keep func(name, value []byte)) {
	s := &r.scan
	which := noAttribute
	keeping := keep != nil && r.Store.AttrTexts != nil
	var name, value []byte
	s.Fields(func(key []byte) {
		switch string(key) {
		case "Key":
			text := s.Text()
			which = attributeFor(text)
			if keeping {
				name = appendText(nil, text)
			}
		case "Value":
			if s.Kind() != jsonscan.Object {
				s.Skip()
				return
			}
			s.Fields(func(key []byte) {
				if string(key) != "Value" {
					s.Skip()
					return
				}
				at := s.Pos()
				switch kind := s.Kind(); {
				case which != noAttribute && kind == jsonscan.Number:
					take(which, s.Int(), nil)
				case which != noAttribute && kind == jsonscan.String:
					take(which, 0, s.Text())
				case which == attrTruncated && kind == jsonscan.Bool:
					s.Skip()
					take(which, 0, []byte("true"))
				default:
					s.Skip()
				}
				if keeping {
					value = s.Since(at)
				}
			})
		default:
			s.Skip()
		}
	})
	if keeping && name != nil && value != nil && s.Err() == nil {
		keep(name, value)
	}
}

func (r *Reader) keepConsole(name, value []byte) {
	r.keepName(name)
	r.attrText = append(r.attrText, value...)
}
