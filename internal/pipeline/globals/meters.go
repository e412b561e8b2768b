package globals

import (
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
)

// Meters is a meter provider whose instruments record into the provider that is in use at
// that moment, and drop the measurement when there is none. Callbacks are registered with
// each provider in turn. The zero value has none. It is safe for concurrent use.
type Meters struct {
	embedded.MeterProvider
	current atomic.Pointer[target]

	mu         sync.Mutex // not held while a provider is called, which may block
	meters     map[scope]*meter
	generation int // how many providers there have been
	callbacks  []*callback
}

// scope is what two meters have in common that are one.
type scope struct {
	name, version, schema string
	attributes            attribute.Distinct
}

// target gives each set-up an identity that can be compared.
type target struct{ provider metric.MeterProvider }

// Use makes p the provider that measurements go to; nil stands for none. The provider
// before it may still collect: its callbacks are called until another one is in use.
func (m *Meters) Use(p metric.MeterProvider) {
	if p == nil {
		m.current.Store(nil)
		return
	}
	to := &target{p}
	m.mu.Lock()
	m.generation++
	m.current.Store(to)
	known := slices.Clone(m.callbacks)
	m.mu.Unlock()
	for _, c := range known {
		if err := c.bind(to); err != nil {
			otel.Handle(err)
		}
	}
}

// Meter implements metric.MeterProvider. Equal arguments give the same meter.
func (m *Meters) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	c := metric.NewMeterConfig(opts...)
	attrs := c.InstrumentationAttributes()
	key := scope{name, c.InstrumentationVersion(), c.SchemaURL(), attrs.Equivalent()}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.meters[key]
	if known == nil {
		known = &meter{from: m, scope: key, opts: slices.Clone(opts)}
		if m.meters == nil {
			m.meters = map[scope]*meter{}
		}
		m.meters[key] = known
	}
	return known
}

type meter struct {
	embedded.Meter
	from  *Meters
	scope scope
	opts  []metric.MeterOption
}

func (m *meter) of(t *target) metric.Meter { return t.provider.Meter(m.scope.name, m.opts...) }

// callback is what has to be registered with each provider: functions, either of one
// instrument or of several.
type callback struct {
	from       *Meters
	identity   callbackIdentity
	generation int // in which it was made
	register   func(*target) (metric.Registration, error)
	gone       atomic.Bool

	mu   sync.Mutex
	last metric.Registration
}

// callbackIdentity recognises set-up code that runs again: the same functions in the
// source, for the same instruments. An instrument has one set of functions of its own,
// whatever they are, as in the SDK.
type callbackIdentity struct {
	scope                  scope
	instruments, functions string
}

// add registers c with the provider in use, and with each that follows. A program that
// sets telemetry up again usually registers its callbacks again, too, and would be
// counted twice: what the same code has registered before an earlier set-up makes way.
func (m *Meters) add(c *callback) error {
	c.from = m
	m.mu.Lock()
	to := m.current.Load()
	c.generation = m.generation
	var replaced []*callback
	kept := m.callbacks[:0:0]
	for _, old := range m.callbacks {
		switch {
		case old.identity != c.identity:
			kept = append(kept, old)
		case old.generation < c.generation:
			replaced = append(replaced, old)
		case c.identity.functions == "": // the SDK, too, keeps the first
			m.mu.Unlock()
			return nil
		default:
			kept = append(kept, old)
		}
	}
	m.callbacks = append(kept, c)
	m.mu.Unlock()
	for _, old := range replaced {
		_ = old.drop()
	}
	if to == nil {
		return nil
	}
	return c.bind(to)
}

func (m *Meters) remove(c *callback) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.callbacks = slices.DeleteFunc(m.callbacks, func(other *callback) bool { return other == c })
}

func (c *callback) bind(to *target) error {
	r, err := c.register(to)
	if r == nil {
		return err
	}
	c.mu.Lock()
	// The registration with the provider before is left alone: that provider ends, or
	// has ended.
	c.last = r
	c.mu.Unlock()
	if c.gone.Load() {
		return c.drop()
	}
	return err
}

// called reports whether the functions are called in a collection of a provider.
func (c *callback) called(from *target) bool {
	now := c.from.current.Load()
	return !c.gone.Load() && (now == from || now == nil)
}

func (c *callback) drop() error {
	c.gone.Store(true)
	c.mu.Lock()
	last := c.last
	c.last = nil
	c.mu.Unlock()
	if last == nil {
		return nil
	}
	return last.Unregister()
}

type registration struct {
	embedded.Registration
	c *callback
}

// Unregister implements metric.Registration.
func (r registration) Unregister() error {
	r.c.from.remove(r.c)
	return r.c.drop()
}
