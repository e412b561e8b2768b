package instruments

import (
	"reflect"
	"runtime"
	"sync"
	"weak"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// inert reports whether nothing recorded with m can arrive anywhere.
func inert(m metric.Meter) bool {
	switch m := m.(type) {
	case nil, noop.Meter:
		return true
	case *noop.Meter:
		return true
	default:
		v := reflect.ValueOf(m)
		return v.Kind() == reflect.Pointer && v.IsNil()
	}
}

// meterID identifies a meter without keeping it alive. Two ids are equal exactly
// when they were made from the same meter, also after it is gone. The type is part
// of it because a struct and its first field share an address.
type meterID struct {
	typ reflect.Type
	ptr weak.Pointer[byte]
}

// perMeter remembers one V for each meter and key for as long as the meter lives.
// The zero value is ready, and it is safe for concurrent use.
type perMeter[K comparable, V any] struct {
	mu   sync.Mutex
	sets map[meterID]map[K]*onceSet[V]
}

type onceSet[V any] struct {
	once sync.Once
	v    V
}

// get returns what build returned for this meter and key, and whether this call
// was the one that ran it. build runs outside the lock of the cache.
//
// A meter that is not a pointer has no identity that could be remembered without
// holding it: build then runs on every call, and the SDK, which keeps its
// instruments by name, returns the same ones.
func (c *perMeter[K, V]) get(m metric.Meter, key K, build func() V) (v V, built bool) {
	rv := reflect.ValueOf(m)
	if rv.Kind() != reflect.Pointer || rv.Type().Elem().Size() == 0 {
		return build(), true
	}
	p := (*byte)(rv.UnsafePointer())
	id := meterID{rv.Type(), weak.Make(p)}

	c.mu.Lock()
	set, known := c.sets[id]
	if !known {
		if c.sets == nil {
			c.sets = make(map[meterID]map[K]*onceSet[V])
		}
		set = make(map[K]*onceSet[V])
		c.sets[id] = set
	}
	e := set[key]
	if e == nil {
		e = new(onceSet[V])
		set[key] = e
	}
	c.mu.Unlock()

	if !known {
		runtime.AddCleanup(p, c.drop, id)
	}
	e.once.Do(func() { e.v, built = build(), true })
	runtime.KeepAlive(m)
	return e.v, built
}

func (c *perMeter[K, V]) drop(id meterID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sets, id)
}

// len returns the number of meters that are remembered.
func (c *perMeter[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sets)
}
