package instruments

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Registry holds groups of metrics that programs define themselves. The zero value
// is ready, and it is safe for concurrent use.
//
// Registering reports faults as errors. Recording never does, and never panics: an
// unknown group or key, an instrument that cannot be created, a value that its
// kind cannot take and a meter that panics are logged once for each group and key,
// and the other values are recorded.
type Registry struct {
	mu     sync.Mutex // serialises writers
	groups atomic.Pointer[map[string]*metricGroup]
	warned warnings
	logger atomic.Pointer[slog.Logger]
}

// DefaultRegistry is the registry of the package's [Register] and [Record].
var DefaultRegistry = &Registry{}

// Register adds a group to [DefaultRegistry], see [Registry.Register].
func Register(group string, specs ...MetricSpec) error {
	return DefaultRegistry.Register(group, specs...)
}

// Record records values of a group of [DefaultRegistry], see [Registry.Record].
func Record(ctx context.Context, meter metric.Meter, group string, attrs []attribute.KeyValue, values ...Value) {
	DefaultRegistry.Record(ctx, meter, group, attrs, values...)
}

// metricGroup is one registered group; all but its cache is immutable. Replacing a
// group makes a new one, which is how cached instruments are dropped.
type metricGroup struct {
	name  string
	specs []MetricSpec
	index map[string]int // key to position in specs
	sets  perMeter[struct{}, []registered]
}

// registered is the instrument of one spec: at most one field is not nil.
type registered struct {
	gauge         metric.Float64Gauge
	histogram     metric.Float64Histogram
	counter       metric.Float64Counter
	upDownCounter metric.Float64UpDownCounter
}

// Register adds a group. Its errors, which name every fault, are an empty group
// name, no specs, an empty key or name, a key given twice, an unknown kind, bounds
// that do not ascend or belong to no histogram, and a group that exists
// ([ErrGroupRegistered]).
func (r *Registry) Register(group string, specs ...MetricSpec) error {
	return r.put(group, specs, false)
}

// Replace is [Registry.Register] for a group that may exist. The instruments of the
// old group are dropped and its warnings forgotten.
func (r *Registry) Replace(group string, specs ...MetricSpec) error {
	return r.put(group, specs, true)
}

func (r *Registry) put(group string, specs []MetricSpec, override bool) error {
	specs, err := checkSpecs(group, specs)
	if err != nil {
		return err
	}
	g := &metricGroup{name: group, specs: specs, index: make(map[string]int, len(specs))}
	for i, s := range specs {
		g.index[s.Key] = i
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.copyGroups()
	if _, taken := next[group]; taken && !override {
		return fmt.Errorf("lens: metric group %q: %w; use Replace, or another name", group, ErrGroupRegistered)
	}
	next[group] = g
	r.groups.Store(&next)
	r.warned.forget(group)
	return nil
}

// Unregister removes a group. A group that does not exist is an error,
// [ErrUnknownGroup].
func (r *Registry) Unregister(group string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.copyGroups()
	if _, ok := next[group]; !ok {
		return fmt.Errorf("lens: metric group %q: %w; registered are %q", group, ErrUnknownGroup, slices.Sorted(maps.Keys(next)))
	}
	delete(next, group)
	r.groups.Store(&next)
	r.warned.forget(group)
	return nil
}

func (r *Registry) copyGroups() map[string]*metricGroup {
	next := make(map[string]*metricGroup)
	if now := r.groups.Load(); now != nil {
		maps.Copy(next, *now)
	}
	return next
}

// Groups returns the names of the registered groups, sorted. The slice is the
// caller's.
func (r *Registry) Groups() []string {
	if now := r.groups.Load(); now != nil {
		return slices.Sorted(maps.Keys(*now))
	}
	return nil
}

// SetLogger sends the warnings of recording to l and returns what received them
// before, nil for standard error.
func (r *Registry) SetLogger(l *slog.Logger) (before *slog.Logger) {
	return r.logger.Swap(l)
}

// Record records values of a group with meter. Of two values with one key the
// later wins. It looks the instruments up and builds the attribute set on each
// call; [Registry.Recorder] does that once.
func (r *Registry) Record(ctx context.Context, meter metric.Meter, group string, attrs []attribute.KeyValue, values ...Value) {
	if len(values) == 0 || inert(meter) {
		return
	}
	defer r.warned.recovered(r.logger.Load(), group)
	g := r.group(group)
	if g == nil {
		return
	}
	p := newPoints(attrs...)
	g.record(ctx, r, g.instruments(r, meter), &p, values)
}

// group returns a registered group, or logs that there is none.
func (r *Registry) group(name string) *metricGroup {
	if now := r.groups.Load(); now != nil {
		if g := (*now)[name]; g != nil {
			return g
		}
	}
	r.warned.once(r.logger.Load(), warning{"unknown group", name, ""},
		"lens: values for a metric group that is not registered are not recorded", "group", name)
	return nil
}

// instruments returns the instruments of meter, in the order of the specs.
func (g *metricGroup) instruments(r *Registry, meter metric.Meter) []registered {
	b := &builder{meter: meter}
	set, built := g.sets.get(meter, struct{}{}, func() []registered {
		set := make([]registered, len(g.specs))
		for i, s := range g.specs {
			d := def{s.Name, s.Unit, s.Description, s.Bounds}
			switch s.Kind {
			case Gauge:
				set[i].gauge = b.gauge(d)
			case Histogram:
				set[i].histogram = b.histogram(d)
			case Counter:
				set[i].counter = b.counter(d)
			case UpDownCounter:
				set[i].upDownCounter = b.upDownCounter(d)
			}
		}
		return set
	})
	if built {
		for _, f := range b.failed {
			r.warned.once(r.logger.Load(), warning{"creation", g.name, f.name},
				"lens: cannot create a metric instrument, its values are not recorded",
				"group", g.name, "instrument", f.name, "error", f.err)
		}
	}
	return set
}

func (g *metricGroup) record(ctx context.Context, r *Registry, set []registered, p *points, values []Value) {
	for i := range values {
		v := &values[i]
		if givenAgain(v.Key, values[i+1:]) {
			continue
		}
		n, ok := v.Number.Get()
		if !ok {
			continue
		}
		at, ok := g.index[v.Key]
		if !ok {
			r.warned.once(r.logger.Load(), warning{"unknown key", g.name, v.Key},
				"lens: a value for a metric that its group does not have is not recorded",
				"group", g.name, "key", v.Key)
			continue
		}
		if !set[at].set(ctx, n, p) {
			r.warned.once(r.logger.Load(), warning{"value", g.name, v.Key},
				"lens: a value that the kind of the metric cannot take is not recorded",
				"group", g.name, "key", v.Key, "kind", string(g.specs[at].Kind), "value", fmt.Sprint(n))
		}
	}
}

func givenAgain(key string, later []Value) bool {
	for i := range later {
		if later[i].Key == key {
			return true
		}
	}
	return false
}

// set hands n to the instrument. It reports false for a value that would spoil
// every later one: a sum that has taken a NaN or an infinity never recovers, and
// backends read a counter that falls as a restart.
func (in *registered) set(ctx context.Context, n float64, p *points) bool {
	switch finite := !math.IsNaN(n) && !math.IsInf(n, 0); {
	case in.gauge != nil:
		in.gauge.Record(ctx, n, p.record...)
	case in.histogram != nil && finite:
		in.histogram.Record(ctx, n, p.record...)
	case in.counter != nil && finite && n >= 0:
		in.counter.Add(ctx, n, p.add...)
	case in.upDownCounter != nil && finite:
		in.upDownCounter.Add(ctx, n, p.add...)
	default:
		// Not created, which was logged then, or a value of the wrong sort.
		return in.histogram == nil && in.counter == nil && in.upDownCounter == nil
	}
	return true
}
