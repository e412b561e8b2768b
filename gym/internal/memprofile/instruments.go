package memprofile

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Names of the instruments and of their attributes.
const (
	ServerUsageName     = "gym.server.memory.usage"
	ServerPeakName      = "gym.server.memory.sampled_peak"
	ServerProcessesName = "gym.server.processes"
	HostUsageName       = "gym.host.memory.usage"
	HostAvailableName   = "gym.host.memory.available"
	HostTotalName       = "gym.host.memory.total"
	HostPeakName        = "gym.host.memory.sampled_peak"

	ServerNameKey = attribute.Key("nemo.gym.server.name")
	ServerTypeKey = attribute.Key("nemo.gym.server.type")
	PIDKey        = attribute.Key("process.pid")
	MemoryTypeKey = attribute.Key("memory.type")
)

// published holds the latest samples and the peaks, for the meter's callback to show.
type published struct {
	mu    sync.Mutex
	host  *HostMemory // nil before the first sample
	peak  uint64      // of the host's usage
	trees []publishedTree
	peaks map[peakKey]uint64
}

type publishedTree struct {
	name          string
	sampled       bool
	memory        TreeMemory
	rss, pss, all metric.MeasurementOption
}

type peakKey struct{ server, memoryType string }

func (p *published) init(targets []Target) {
	p.peaks = make(map[peakKey]uint64)
	for _, t := range targets {
		attrs := []attribute.KeyValue{ServerNameKey.String(t.Name), PIDKey.Int(t.PID)}
		if t.Type != "" {
			attrs = append(attrs, ServerTypeKey.String(t.Type))
		}
		with := func(extra ...attribute.KeyValue) metric.MeasurementOption {
			return metric.WithAttributeSet(attribute.NewSet(append(extra, attrs...)...))
		}
		p.trees = append(p.trees, publishedTree{
			name: t.Name,
			rss:  with(MemoryTypeKey.String("rss")),
			pss:  with(MemoryTypeKey.String("pss")),
			all:  with(),
		})
	}
}

func (p *published) setHost(h HostMemory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host = &h
	p.peak = max(p.peak, h.Used())
}

func (p *published) setTree(i int, name string, m TreeMemory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trees[i].memory, p.trees[i].sampled = m, true
	p.raise(peakKey{name, "rss"}, m.RSS)
	if m.HasPSS {
		p.raise(peakKey{name, "pss"}, m.PSS)
	}
}

func (p *published) raise(k peakKey, v uint64) { p.peaks[k] = max(p.peaks[k], v) }

// register creates the instruments and shows the latest samples in each collection.
func (p *published) register(meter metric.Meter) (metric.Registration, error) {
	var errs []error
	gauge := func(name, unit, description string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		if err != nil {
			errs = append(errs, fmt.Errorf("lens: create %s: %w", name, err))
		}
		return g
	}
	usage := gauge(ServerUsageName, "By", "Memory of a server's process tree.")
	peak := gauge(ServerPeakName, "By", "Highest sample of the memory of a server's process tree.")
	processes := gauge(ServerProcessesName, "{process}", "Processes of a server's process tree.")
	hostUsage := gauge(HostUsageName, "By", "Memory of the host that is in use: total minus available.")
	hostAvailable := gauge(HostAvailableName, "By", "Memory of the host that programs could be given.")
	hostTotal := gauge(HostTotalName, "By", "Memory of the host.")
	hostPeak := gauge(HostPeakName, "By", "Highest sample of the memory of the host that is in use.")
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if h := p.host; h != nil {
			o.ObserveInt64(hostUsage, int64(h.Used()))
			o.ObserveInt64(hostAvailable, int64(h.Available))
			o.ObserveInt64(hostTotal, int64(h.Total))
			o.ObserveInt64(hostPeak, int64(p.peak))
		}
		for _, t := range p.trees {
			if !t.sampled {
				continue
			}
			o.ObserveInt64(processes, int64(t.memory.Processes), t.all)
			o.ObserveInt64(usage, int64(t.memory.RSS), t.rss)
			o.ObserveInt64(peak, int64(p.peaks[peakKey{t.name, "rss"}]), t.rss)
			if t.memory.HasPSS {
				o.ObserveInt64(usage, int64(t.memory.PSS), t.pss)
			}
			if v, ok := p.peaks[peakKey{t.name, "pss"}]; ok {
				o.ObserveInt64(peak, int64(v), t.pss)
			}
		}
		return nil
	}, usage, peak, processes, hostUsage, hostAvailable, hostTotal, hostPeak)
	if err != nil {
		return nil, fmt.Errorf("lens: observe the memory gauges: %w", err)
	}
	return registration, nil
}
