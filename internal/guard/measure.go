package guard

import (
	"math/bits"
	"reflect"
	"sync"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Sizes are those of the protobuf encoding of OTLP 1.11 (opentelemetry/proto/
// trace/v1/trace.proto), from above: a field that may be left out counts as
// present, and a number whose length depends on its value counts as the longest.

// varint is the encoded length of n.
func varint(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// field is the length of a text or message of n bytes with its tag and length.
func field(n int) int { return 1 + varint(n) + n }

const (
	maxCount = 1 + 5 // a uint32 with its tag
	fixed64  = 1 + 8
)

// sizer walks what will be encoded, adds up its size and notes whether any text
// needs repair. When it does, the size is that of the unrepaired text and useless.
type sizer struct {
	TextLimits
	dirty bool
}

func (z *sizer) text(s string, limit int) int {
	if !textFits(s, limit) {
		z.dirty = true
	}
	return field(len(s))
}

// key is text without a limit.
func (z *sizer) key(s string) int {
	if !utf8.ValidString(s) {
		z.dirty = true
	}
	return field(len(s))
}

// span returns the size of s as a field of its ScopeSpans, without its group.
func (z *sizer) span(s sdktrace.ReadOnlySpan) int {
	const ids = 2 + 16 + 2 + 8 + 2 + 8 // trace, span, parent
	const kind, flags = 2, 2 + 4
	n := ids + kind + flags + 2*fixed64 + 3*maxCount
	n += traceState(s.SpanContext().TraceState())
	n += z.text(s.Name(), z.Name)
	n += z.attributes(s.Attributes(), z.Value)
	events := s.Events()
	for i := range events {
		e := &events[i]
		n += field(fixed64 + maxCount + z.text(e.Name, z.Name) + z.attributes(e.Attributes, z.Value))
	}
	links := s.Links()
	for i := range links {
		l := &links[i]
		const fixed = 2 + 16 + 2 + 8 + maxCount + 1 + 4
		n += field(fixed + traceState(l.SpanContext.TraceState()) + z.attributes(l.Attributes, z.Value))
	}
	n += field(2 + z.text(s.Status().Description, z.Value))
	return field(n)
}

// traceState is the size of the header text, without making it.
func traceState(ts trace.TraceState) int {
	if ts.Len() == 0 {
		return 0
	}
	n := 0
	ts.Walk(func(key, value string) bool {
		n += len(key) + len("=") + len(value) + len(",")
		return true
	})
	return field(n)
}

func (z *sizer) attributes(attrs []attribute.KeyValue, limit int) int {
	n := 0
	for i := range attrs {
		n += field(z.key(string(attrs[i].Key)) + field(z.anyValue(&attrs[i].Value, limit)))
	}
	return n
}

const (
	boolSize   = 2
	intSize    = 1 + 10
	doubleSize = 1 + 8
)

func (z *sizer) anyValue(v *attribute.Value, limit int) int {
	switch v.Type() {
	case attribute.EMPTY:
		return 0
	case attribute.BOOL:
		return boolSize
	case attribute.INT64:
		return intSize
	case attribute.FLOAT64:
		return doubleSize
	case attribute.STRING:
		return z.text(v.AsString(), limit)
	case attribute.BYTESLICE:
		return z.bytes(len(v.AsString()), limit) // AsString reads the bytes without a copy
	}
	if layout.known {
		return z.stored(reflect.ValueOf(v).Elem(), limit)
	}
	return z.copied(*v, limit)
}

func (z *sizer) bytes(n, limit int) int {
	if limit >= 0 && n > limit {
		z.dirty = true
	}
	return field(n)
}

// copied measures a slice or a map through the public methods, each of which
// copies it.
func (z *sizer) copied(v attribute.Value, limit int) int {
	n := 0
	switch v.Type() {
	case attribute.BOOLSLICE:
		n = len(v.AsBoolSlice()) * field(boolSize)
	case attribute.INT64SLICE:
		n = len(v.AsInt64Slice()) * field(intSize)
	case attribute.FLOAT64SLICE:
		n = len(v.AsFloat64Slice()) * field(doubleSize)
	case attribute.STRINGSLICE:
		for _, s := range v.AsStringSlice() {
			n += field(z.text(s, limit))
		}
	case attribute.SLICE:
		values := v.AsSlice()
		for i := range values {
			n += field(z.anyValue(&values[i], limit))
		}
	case attribute.MAP:
		n = z.attributes(v.AsMap(), limit)
	}
	return field(n)
}

// layout is where attribute.Value of the linked release keeps what it holds. The
// public methods copy slices and maps, and looking must not cost an allocation,
// so they are read in place; a release that stores them another way gets copies.
var layout = func() (l struct {
	known            bool
	kind, text, list int // fields of attribute.Value
	mapKey, mapValue int // fields of attribute.KeyValue
}) {
	value, pair := reflect.TypeFor[attribute.Value](), reflect.TypeFor[attribute.KeyValue]()
	find := func(t reflect.Type, name string, kind reflect.Kind) int {
		if f, ok := t.FieldByName(name); ok && f.Type.Kind() == kind && len(f.Index) == 1 {
			return f.Index[0]
		}
		return -1
	}
	l.kind = find(value, "vtype", reflect.Int)
	l.text = find(value, "stringly", reflect.String)
	l.list = find(value, "slice", reflect.Interface)
	l.mapKey = find(pair, "Key", reflect.String)
	l.mapValue = find(pair, "Value", reflect.Struct)
	if min(l.kind, l.text, l.list, l.mapKey, l.mapValue) < 0 {
		return l
	}
	// Believe it only when it reads back what was put in.
	sample := attribute.MapValue(attribute.Key("k").StringSlice([]string{"a", "b", "c", "d"}))
	v := reflect.ValueOf(&sample).Elem()
	list := v.Field(l.list).Elem()
	if attribute.Type(v.Field(l.kind).Int()) != attribute.MAP || list.Kind() != reflect.Array || list.Len() != 1 {
		return l
	}
	inner := list.Index(0).Field(l.mapValue).Field(l.list).Elem()
	l.known = list.Index(0).Field(l.mapKey).String() == "k" &&
		inner.Kind() == reflect.Array && inner.Len() == 4 && inner.Index(3).String() == "d"
	return l
}()

// stored measures an attribute.Value in place.
func (z *sizer) stored(v reflect.Value, limit int) int {
	kind := attribute.Type(v.Field(layout.kind).Int())
	switch kind {
	case attribute.EMPTY:
		return 0
	case attribute.BOOL:
		return boolSize
	case attribute.INT64:
		return intSize
	case attribute.FLOAT64:
		return doubleSize
	case attribute.STRING:
		return z.text(v.Field(layout.text).String(), limit)
	case attribute.BYTESLICE:
		return z.bytes(v.Field(layout.text).Len(), limit)
	}
	list := v.Field(layout.list).Elem()
	if list.Kind() != reflect.Array {
		return field(0)
	}
	count, n := list.Len(), 0
	switch kind {
	case attribute.BOOLSLICE:
		n = count * field(boolSize)
	case attribute.INT64SLICE:
		n = count * field(intSize)
	case attribute.FLOAT64SLICE:
		n = count * field(doubleSize)
	case attribute.STRINGSLICE:
		for i := range count {
			n += field(z.text(list.Index(i).String(), limit))
		}
	case attribute.SLICE:
		for i := range count {
			n += field(z.stored(list.Index(i), limit))
		}
	case attribute.MAP:
		for i := range count {
			kv := list.Index(i)
			n += field(z.key(kv.Field(layout.mapKey).String()) + field(z.stored(kv.Field(layout.mapValue), limit)))
		}
	}
	return field(n)
}

// overhead is for the tag and the length of the messages that hold a group.
const overhead = 3 * (1 + 5)

// sets remembers the measure of attribute sets, of resources and scopes, which
// are many spans' own and which the API reads with an allocation for each member.
type sets struct {
	mu    sync.Mutex
	known map[attribute.Distinct]measured
}

type measured struct {
	size  int
	dirty bool
}

func (c *sets) measure(set *attribute.Set) measured {
	if set.Len() == 0 {
		return measured{}
	}
	const enough = 1024
	id := set.Equivalent()
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.known[id]
	if !ok {
		z := sizer{TextLimits: TextLimits{-1, -1}}
		m.size = z.attributes(set.ToSlice(), -1)
		m.dirty = z.dirty
		if c.known == nil || len(c.known) >= enough {
			c.known = map[attribute.Distinct]measured{}
		}
		c.known[id] = m
	}
	return m
}

func (z *sizer) resource(c *sets, r *resource.Resource) int {
	m := c.measure(r.Set())
	z.dirty = z.dirty || m.dirty
	return overhead + field(m.size) + z.key(r.SchemaURL())
}

func (z *sizer) scope(c *sets, s *instrumentation.Scope) int {
	m := c.measure(&s.Attributes)
	z.dirty = z.dirty || m.dirty
	return overhead + z.key(s.Name) + z.key(s.Version) + z.key(s.SchemaURL) + m.size + maxCount
}
