package detect

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/nvidia"
	"github.com/nemo-lens/lens/internal/identity/strategy"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// localRank is the place of the process among those of its node: given, else
// from the launcher, else 0. Garbage gives 0, as in the reference.
func localRank(given string, lookup envtext.Lookup) int {
	text := envtext.Clean(given)
	if text == "" {
		text, _ = envtext.First(lookup, strategy.LocalRankVars()...)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// gpuIdentity describes the GPU of the process: nothing unless index, model and
// UUID are known.
func (d *detector) gpuIdentity() []attribute.KeyValue {
	local := localRank(d.LocalRank, d.Lookup)
	visible := nvidia.ReadVisible(d.Lookup)
	// nvidia-smi knows all that the files know and more.
	for _, list := range [][]gpu{d.smi(), d.driver.devices()} {
		at := visible.Of(known(list))
		switch {
		case local < 0:
			return nil
		case visible.IsSet() && len(at) == 1 && visible.Count(known(list)) == 1:
			local = 0 // a launcher that shows each process its own device
		case local >= len(at):
			continue
		}
		if g := list[at[local]]; g.model != "" && g.uuid != "" {
			return g.attributes()
		}
	}
	return nil
}

// known is the list as CUDA_VISIBLE_DEVICES refers to it.
func known(list []gpu) []nvidia.Device {
	devices := make([]nvidia.Device, len(list))
	for i, g := range list {
		devices[i] = nvidia.Device{Index: g.index, UUID: g.uuid}
	}
	return devices
}

func (g gpu) attributes() []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.NVGPUIndexKey.Int(g.index)}
	for _, kv := range []attribute.KeyValue{
		semconv.NVGPUModelKey.String(g.model),
		semconv.NVGPUUUIDKey.String(g.uuid),
		semconv.NVGPUSerialKey.String(g.serial),
		semconv.NVGPUPCIBusIDKey.String(g.bus),
		semconv.NVGPUComputeCapabilityKey.String(g.capability),
		semconv.NVGPUDriverVersionKey.String(g.driverVersion),
	} {
		if kv.Value.AsString() != "" {
			attrs = append(attrs, kv)
		}
	}
	if g.memory > 0 {
		attrs = append(attrs, semconv.NVGPUMemoryTotalKey.Int64(g.memory))
	}
	return attrs
}
