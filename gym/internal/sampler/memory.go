package sampler

import (
	"context"
	"fmt"
	"time"

	"github.com/nemo-lens/lens/gym/internal/memprofile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// The gauges of [HostMemory] and its span attributes.
const (
	MemoryUsedName  = "gym.host.memory_used_mib"
	MemoryTotalName = "gym.host.memory_total_mib"

	MemoryUsedKey  = attribute.Key("nemo.gym.host.memory_used_mib")
	MemoryTotalKey = attribute.Key("nemo.gym.host.memory_total_mib")
)

// HostMemory samples the memory of the host. It is safe for concurrent use. A nil *HostMemory is off.
type HostMemory struct {
	used, total metric.Float64Gauge
	window      window[memprofile.HostMemory]
}

// NewHostMemory creates the gauges on meter. Between two reads at least interval passes; 0 is [DefaultInterval]. ProcRoot
// is where procfs is mounted, empty for /proc. The error says that there is no procfs, or what the meter refused.
func NewHostMemory(meter metric.Meter, interval time.Duration, procRoot string) (*HostMemory, error) {
	interval, err := checkSampler("memory of the host", meter, interval)
	if err != nil {
		return nil, err
	}
	reader := memprofile.NewReader(procRoot)
	if _, err := reader.Host(); err != nil {
		return nil, err
	}
	m := &HostMemory{window: newWindow(interval, reader.Host)}
	m.used, err = meter.Float64Gauge(MemoryUsedName, metric.WithUnit("MiB"), metric.WithDescription("Memory of the host that is in use: total minus available."))
	if err != nil {
		return nil, fmt.Errorf("lens: create %s: %w", MemoryUsedName, err)
	}
	m.total, err = meter.Float64Gauge(MemoryTotalName, metric.WithUnit("MiB"), metric.WithDescription("Memory of the host."))
	if err != nil {
		return nil, fmt.Errorf("lens: create %s: %w", MemoryTotalName, err)
	}
	return m, nil
}

// Sample returns the memory in use and in all, in MiB, and records both in ctx, so that the points have ctx's span as
// exemplar. It reports false while there is no value.
func (m *HostMemory) Sample(ctx context.Context) (used, total float64, ok bool) {
	if m == nil {
		return 0, 0, false
	}
	h, ok := m.window.get()
	if !ok {
		return 0, 0, false
	}
	const mib = 1 << 20
	used, total = float64(h.Used())/mib, float64(h.Total)/mib
	m.used.Record(ctx, used)
	m.total.Record(ctx, total)
	return used, total, true
}

// Annotate samples, and puts the values on ctx's span.
func (m *HostMemory) Annotate(ctx context.Context) {
	if used, total, ok := m.Sample(ctx); ok {
		trace.SpanFromContext(ctx).SetAttributes(MemoryUsedKey.Float64(used), MemoryTotalKey.Float64(total))
	}
}
