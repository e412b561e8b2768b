package trace

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/jsonscan"
	"github.com/nemo-lens/lens/semconv"
)

type attributeKind int

const (
	noAttribute attributeKind = iota
	attrStep
	attrRollout
	attrGroup
	attrTruncated
	attrRank
	attrWorld
	attrRun
	attrService
	attrInstance
	attrServer
	attrHost
	attrPID
)

// GroupKey is the attribute that names the span group of a span. The file exporter
// writes it; without it the group is told from the span's name (see Store.Group).
const GroupKey = "nemo.span.group"

// attributeFor tells which of the attributes that the views need a key is.
func attributeFor(key []byte) attributeKind {
	switch string(key) {
	case string(semconv.DLIterationKey):
		return attrStep
	case string(semconv.NeMoGymRolloutIDKey):
		return attrRollout
	case GroupKey:
		return attrGroup
	case string(semconv.NeMoSpanTruncatedKey):
		return attrTruncated
	case string(semconv.DLRankKey), string(semconv.NVDLRankKey):
		return attrRank
	case string(semconv.DLWorldSizeKey), string(semconv.NVDLWorldSizeKey):
		return attrWorld
	case string(semconv.NeMoRunIDKey):
		return attrRun
	case "service.name":
		return attrService
	case "service.instance.id":
		return attrInstance
	case string(semconv.NeMoGymServerNameKey):
		return attrServer
	case "host.name":
		return attrHost
	case "process.pid":
		return attrPID
	}
	return noAttribute
}

// number takes an attribute of a span that is a number.
func (r *Reader) number(span *Span, a attributeKind, n int64) {
	switch a {
	case attrStep:
		if n >= 0 && n <= math.MaxInt32 {
			span.Step = int32(n)
		}
	case attrRollout:
		span.Rollout = r.Store.Rollouts.Number(strconv.AppendInt(nil, n, 10))
	}
}

// text takes an attribute of a span that is a text.
func (r *Reader) text(span *Span, a attributeKind, text []byte) {
	switch a {
	case attrStep:
		if n, err := strconv.ParseInt(string(text), 10, 32); err == nil {
			r.number(span, a, n)
		}
	case attrRollout:
		span.Rollout = r.Store.Rollouts.Number(text)
	case attrGroup:
		if n := r.Store.Groups.Number(text); n <= math.MaxUint16 {
			span.Group = uint16(n)
		}
	case attrTruncated:
		span.Flags |= FlagTruncated
	}
}

// set takes an attribute of a resource.
func (p *Process) set(a attributeKind, number int64, text []byte) {
	if text != nil {
		number = None
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			number = n
		}
	}
	switch a {
	case attrRank:
		p.Rank = small(number)
	case attrWorld:
		p.World = small(number)
	case attrPID:
		p.PID = number
	case attrRun:
		p.Run = string(text)
	case attrService:
		p.Service = string(text)
	case attrInstance:
		p.Instance = string(text)
	case attrServer:
		p.Server = string(text)
	case attrHost:
		p.Host = string(text)
	}
}

func small(n int64) int {
	if n < 0 || n > math.MaxInt32 {
		return None
	}
	return int(n)
}

// keepText adds a member to the text of the attributes, when those are kept.
func (r *Reader) keepText(name string, value []byte) {
	if r.Store.AttrTexts == nil || len(value) == 0 {
		return
	}
	r.keepName(strconv.AppendQuote(nil, name))
	r.attrText = appendText(r.attrText, value)
}

func (r *Reader) keepName(quoted []byte) {
	if len(r.attrText) > 1 {
		r.attrText = append(r.attrText, ',')
	}
	r.attrText = append(append(r.attrText, quoted...), ':')
}

// appendText quotes text for JSON.
func appendText(to, text []byte) []byte {
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return append(to, `""`...)
	}
	return append(to, quoted...)
}

// keepOTLP adds the attribute that starts at an offset, with a plain value.
func (r *Reader) keepOTLP(start int) {
	s := &r.scan
	end := s.Pos()
	s.Seek(start)
	var name, value []byte
	s.Fields(func(key []byte) {
		switch string(key) {
		case "key":
			name = appendText(nil, s.Text())
		case "value":
			value = r.plainOTLP(nil)
		default:
			s.Skip()
		}
	})
	s.Seek(end)
	if name == nil || value == nil || s.Err() != nil {
		return
	}
	r.keepName(name)
	r.attrText = append(r.attrText, value...)
}

// plainOTLP appends the value without the names of OTLP's types.
func (r *Reader) plainOTLP(to []byte) []byte {
	s := &r.scan
	empty := len(to)
	s.Fields(func(kind []byte) {
		switch string(kind) {
		case "stringValue", "string_value", "bytesValue", "bytes_value":
			to = appendText(to, s.Text())
		case "intValue", "int_value":
			to = strconv.AppendInt(to, s.Int(), 10)
		case "boolValue", "bool_value", "doubleValue", "double_value":
			at := s.Pos()
			s.Skip()
			to = append(to, s.Since(at)...)
		case "arrayValue", "array_value":
			to = append(to, '[')
			first := true
			s.Fields(func([]byte) {
				s.Elements(func() {
					if !first {
						to = append(to, ',')
					}
					first = false
					to = r.plainOTLP(to)
				})
			})
			to = append(to, ']')
		default:
			at := s.Pos()
			s.Skip()
			to = append(to, s.Since(at)...)
		}
	})
	if len(to) == empty {
		to = append(to, "null"...)
	}
	return to
}

// isText reports whether the next value is a text.
func isText(s *jsonscan.Scanner) bool { return s.Kind() == jsonscan.String }
