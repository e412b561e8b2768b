package instruments

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// GroupRecorder records values of one group with one meter and one set of
// attributes. It follows the registry: a group that is registered or replaced
// later is picked up. It is safe for concurrent use; a nil *GroupRecorder records
// nothing.
type GroupRecorder struct {
	registry *Registry
	meter    metric.Meter // nil when nothing can be recorded
	group    string
	points   points
	bound    atomic.Pointer[binding]
}

// binding is a resolved group and what the registry held when it was resolved.
type binding struct {
	of    *map[string]*metricGroup
	group *metricGroup
	set   []registered
}

// Recorder returns a recorder for a group, which need not exist yet. With a nil
// meter, or one that does nothing, it records nothing and costs next to nothing.
func (r *Registry) Recorder(meter metric.Meter, group string, attrs ...attribute.KeyValue) *GroupRecorder {
	g := &GroupRecorder{registry: r, group: group, points: newPoints(attrs...)}
	if !inert(meter) {
		g.meter = meter
	}
	return g
}

// Record records values. Of two values with one key the later wins.
func (g *GroupRecorder) Record(ctx context.Context, values ...Value) {
	if g == nil || g.meter == nil || len(values) == 0 {
		return
	}
	g.record(ctx, values)
}

func (g *GroupRecorder) record(ctx context.Context, values []Value) {
	r := g.registry
	defer r.warned.recovered(r.logger.Load(), g.group)
	b := g.bound.Load()
	if now := r.groups.Load(); b == nil || b.of != now {
		group := r.group(g.group)
		if group == nil {
			return
		}
		b = &binding{now, group, group.instruments(r, g.meter)}
		g.bound.Store(b)
	}
	b.group.record(ctx, r, b.set, &g.points, values)
}
