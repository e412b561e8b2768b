package record

import (
	"slices"

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
				p.wasSet(s, s.attrs[at:at+1])
			}
		}
	}
	s.mu.Unlock()
}

// set needs s.mu held, or a new s.
func (s *Span) set(attrs []attribute.KeyValue) {
	limits := &s.tracer.provider.limits
	limit := limits.AttributeCountLimit
	if limit == 0 {
		s.extra().droppedAttributes += len(attrs)
		return
	}
	if need := len(s.attrs) + len(attrs); need > cap(s.attrs) {
		if limit > 0 {
			need = min(need, limit)
		}
		s.attrs = slices.Grow(s.attrs, need-len(s.attrs))
	}
	for i := range attrs {
		kv := &attrs[i]
		if !kv.Valid() {
			s.extra().droppedAttributes++
			continue
		}
		value := kv.Value
		if limits.concern(value.Type()) {
			value = limits.fit(value)
		}
		if i := s.find(kv.Key); i >= 0 {
			s.attrs[i].Value = value
			continue
		}
		if limit > 0 && len(s.attrs) >= limit {
			s.extra().droppedAttributes++
			continue
		}
		s.attrs = append(s.attrs, attribute.KeyValue{Key: kv.Key, Value: value})
		if s.more != nil && s.more.index != nil {
			s.more.index[kv.Key] = len(s.attrs) - 1
		}
	}
}

// find returns the place of key among the attributes, or -1.
func (s *Span) find(key attribute.Key) int {
	if len(s.attrs) < manyAttributes {
		for i := range s.attrs {
			if s.attrs[i].Key == key {
				return i
			}
		}
		return -1
	}
	m := s.extra()
	if m.index == nil {
		m.index = make(map[attribute.Key]int, 2*len(s.attrs))
		for i := range s.attrs {
			m.index[s.attrs[i].Key] = i
		}
	}
	if i, ok := m.index[key]; ok {
		return i
	}
	return -1
}
