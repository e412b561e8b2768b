package otlp

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nemo-lens/lens/internal/export/guard"
)

// encoder writes protobuf messages of opentelemetry/proto (1.11). Spans are too many
// to make a message of each attribute first and have its size taken and its text
// looked at by others: that costs more than recording the span did. Here the bytes are
// written at once, text is looked at once, and the size is known when they are.
//
// The fields of a message are written in the order of their numbers, as protobuf's
// own encoder does, and left out when they are zero.
type encoder struct {
	b      []byte
	limits guard.TextLimits
	fixed  bool // text was repaired or cut
}

// The tag of a field: its number and how it is encoded.
const (
	varintType  = byte(protowire.VarintType)
	fixed64Type = byte(protowire.Fixed64Type)
	bytesType   = byte(protowire.BytesType)
	fixed32Type = byte(protowire.Fixed32Type)
)

func tag(number int, kind byte) byte { return byte(number<<3) | kind }

// open begins a message and close ends it. width is how many bytes its length is
// expected to take: another width moves what is written.
func (e *encoder) open(number int, width int) (at int) {
	e.b = append(e.b, tag(number, bytesType))
	e.b = append(e.b, "\x00\x00\x00\x00\x00"[:width]...)
	return len(e.b)
}

func (e *encoder) close(at, width int) {
	n := len(e.b) - at
	if need := protowire.SizeVarint(uint64(n)); need != width {
		e.b = append(e.b, "\x00\x00\x00\x00\x00"[:max(need-width, 0)]...)
		copy(e.b[at+need-width:], e.b[at:at+n])
		e.b = e.b[:at+need-width+n]
		at, width = at+need-width, need
	}
	if n < 0x80 {
		e.b[at-1] = byte(n)
		return
	}
	protowire.AppendVarint(e.b[at-width:at-width], uint64(n))
}

// varint writes a number, unless it is 0.
func (e *encoder) varint(number int, n uint64) {
	if n != 0 {
		e.b = protowire.AppendVarint(append(e.b, tag(number, varintType)), n)
	}
}

// count writes a number of things that were dropped.
func (e *encoder) count(number, n int) {
	e.varint(number, uint64(min(max(int64(n), 0), math.MaxUint32)))
}

// fixed64 writes a number of nanoseconds, unless it is 0.
func (e *encoder) fixed64(number int, n uint64) {
	if n != 0 {
		e.b = binary.LittleEndian.AppendUint64(append(e.b, tag(number, fixed64Type)), n)
	}
}

func (e *encoder) bytes(number int, b []byte) {
	e.b = append(e.b, tag(number, bytesType), byte(len(b))) // ids only
	e.b = append(e.b, b...)
}

// text writes s, repaired and cut to limit, unless it is empty.
func (e *encoder) text(number int, s string, limit int) {
	if s != "" {
		e.string(number, s, limit)
	}
}

func (e *encoder) string(number int, s string, limit int) {
	if fixed := guard.FixText(s, limit); len(fixed) != len(s) || fixed != s {
		s, e.fixed = fixed, true
	}
	e.b = protowire.AppendVarint(append(e.b, tag(number, bytesType)), uint64(len(s)))
	e.b = append(e.b, s...)
}

// attributes writes each as a KeyValue, the values with at most limit characters.
func (e *encoder) attributes(number int, attrs []attribute.KeyValue, limit int) {
	for i := range attrs {
		at := e.open(number, 1)
		e.text(1, string(attrs[i].Key), -1)
		e.value(2, &attrs[i].Value, limit)
		e.close(at, 1)
	}
}

// set writes the attributes of a resource or a scope.
func (e *encoder) set(number int, set *attribute.Set) {
	for it := set.Iter(); it.Next(); {
		kv := [1]attribute.KeyValue{it.Attribute()}
		e.attributes(number, kv[:], -1)
	}
}

// The numbers of AnyValue's fields.
const (
	stringValueField = 1
	boolValueField   = 2
	intValueField    = 3
	doubleValueField = 4
	arrayValueField  = 5
	kvlistValueField = 6
	bytesValueField  = 7
)

// value writes an AnyValue; one without a type has no field.
func (e *encoder) value(number int, v *attribute.Value, limit int) {
	at := e.open(number, 1)
	switch v.Type() {
	case attribute.STRING:
		e.string(stringValueField, v.AsString(), limit)
	case attribute.INT64:
		e.int(v.AsInt64())
	case attribute.FLOAT64:
		e.double(v.AsFloat64())
	case attribute.BOOL:
		e.bool(v.AsBool())
	case attribute.BYTESLICE:
		b := v.AsString() // the bytes, without a copy
		if limit >= 0 && len(b) > limit {
			b, e.fixed = b[:limit], true
		}
		e.b = protowire.AppendVarint(append(e.b, tag(bytesValueField, bytesType)), uint64(len(b)))
		e.b = append(e.b, b...)
	case attribute.STRINGSLICE:
		array(e, v.AsStringSlice(), func(s string) { e.string(stringValueField, s, limit) })
	case attribute.INT64SLICE:
		array(e, v.AsInt64Slice(), e.int)
	case attribute.FLOAT64SLICE:
		array(e, v.AsFloat64Slice(), e.double)
	case attribute.BOOLSLICE:
		array(e, v.AsBoolSlice(), e.bool)
	case attribute.SLICE:
		list := e.open(arrayValueField, 1)
		for _, member := range v.AsSlice() {
			e.value(1, &member, limit)
		}
		e.close(list, 1)
	case attribute.MAP:
		list := e.open(kvlistValueField, 1)
		e.attributes(1, v.AsMap(), limit)
		e.close(list, 1)
	case attribute.EMPTY:
	default:
		// A type that a newer API has: its text is better than nothing.
		e.string(stringValueField, v.String(), limit)
	}
	e.close(at, 1)
}

// array writes an ArrayValue.
func array[T any](e *encoder, members []T, write func(T)) {
	list := e.open(arrayValueField, 1)
	for _, m := range members {
		at := e.open(1, 1)
		write(m)
		e.close(at, 1)
	}
	e.close(list, 1)
}

// A member of a oneof is written also when it is zero.

func (e *encoder) int(n int64) {
	e.b = protowire.AppendVarint(append(e.b, tag(intValueField, varintType)), uint64(n))
}

func (e *encoder) double(f float64) {
	e.b = binary.LittleEndian.AppendUint64(append(e.b, tag(doubleValueField, fixed64Type)), math.Float64bits(f))
}

func (e *encoder) bool(b bool) {
	e.b = append(e.b, tag(boolValueField, varintType), 0)
	if b {
		e.b[len(e.b)-1] = 1
	}
}
