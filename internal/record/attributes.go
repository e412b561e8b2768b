package record

import (
	"slices"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
)

// manyAttributes is the number from which a key is looked up in a map.
const manyAttributes = 32

// SetAttributes sets attributes; those that have a key already are replaced. An
// attribute without a key, or a new one over the limit, is dropped and counted.
func (s *Span) SetAttributes(attrs ...attribute.KeyValue) {
	if len(attrs) == 0 || !s.change() {
		return
	}
	s.set(attrs)
	if p := s.tracer.provider; p.watcher != nil {
		// The span's own, so that those of the caller stay on the caller's stack.
		for i := range attrs {
			if at := s.find(attrs[i].Key); at >= 0 {
				p.wasSet(s, s.attrs.all()[at:at+1])
			}
		}
	}
	s.mu.Unlock()
}

// attributes is a slice with numbers of half the size.
type attributes struct {
	first   *attribute.KeyValue
	n, room uint32
}

func (a *attributes) all() []attribute.KeyValue { return unsafe.Slice(a.first, a.room)[:a.n] }

func (a *attributes) set(all []attribute.KeyValue) {
	a.first, a.n, a.room = unsafe.SliceData(all), uint32(len(all)), uint32(cap(all))
}

// setFirst sets the attributes of the start, as they are and with one copy, when none
// of them is a special case. It reports false, with nothing set, when one may be.
func (s *Span) setFirst(attrs []attribute.KeyValue) bool {
	limits := &s.tracer.provider.limits
	if s.attrs.n > 0 || len(attrs) > int(s.attrs.room) || limits.AttributeCountLimit >= 0 && len(attrs) > limits.AttributeCountLimit {
		return false
	}
	for i := range attrs {
		kv := &attrs[i]
		if kv.Key == "" || limits.concern(&kv.Value) {
			return false
		}
		for j := range i {
			if attrs[j].Key == kv.Key {
				return false
			}
		}
	}
	s.attrs.n = uint32(len(attrs))
	copy(s.attrs.all(), attrs)
	return true
}

// set needs s.mu held, or a new s.
func (s *Span) set(attrs []attribute.KeyValue) {
	limits := &s.tracer.provider.limits
	limit := limits.AttributeCountLimit
	if limit == 0 {
		s.extra().droppedAttributes += len(attrs)
		return
	}
	all := s.attrs.all()
	if need := len(all) + len(attrs); need > cap(all) {
		if limit > 0 {
			need = min(need, limit)
		}
		all = slices.Grow(all, need-len(all))
		s.attrs.set(all)
	}
	for i := range attrs {
		kv := &attrs[i]
		if !kv.Valid() {
			s.extra().droppedAttributes++
			continue
		}
		value := kv.Value
		if limits.concern(&value) {
			limits.fit(&value)
		}
		if i := s.find(kv.Key); i >= 0 {
			all[i].Value = value
			continue
		}
		if limit > 0 && len(all) >= limit {
			s.extra().droppedAttributes++
			continue
		}
		all = append(all, attribute.KeyValue{Key: kv.Key, Value: value})
		s.attrs.set(all)
		if s.more != nil && s.more.index != nil {
			s.more.index[kv.Key] = len(all) - 1
		}
	}
}

// find returns the place of key among the attributes, or -1.
func (s *Span) find(key attribute.Key) int {
	all := s.attrs.all()
	if len(all) < manyAttributes {
		for i := range all {
			if all[i].Key == key {
				return i
			}
		}
		return -1
	}
	m := s.extra()
	if m.index == nil {
		m.index = make(map[attribute.Key]int, 2*len(all))
		for i := range all {
			m.index[all[i].Key] = i
		}
	}
	if i, ok := m.index[key]; ok {
		return i
	}
	return -1
}
