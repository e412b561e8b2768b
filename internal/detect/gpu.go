package detect

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/strategy"
	"github.com/nemo-lens/lens/semconv"
)

// localRank is the place of the process among those of its node: given, else
// from the launcher, else 0. Garbage gives 0, as in the reference.
func localRank(given string, lookup func(string) (string, bool)) int {
	text := given
	if text == "" {
		text = firstOf(lookup, strategy.LocalRankVars()...)
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0
	}
	return n
}

// device returns the visible device of the process with this local rank: an
// index if CUDA_VISIBLE_DEVICES does not say otherwise.
func device(local int, lookup func(string) (string, bool)) (VisibleDevice, bool) {
	if local < 0 {
		return VisibleDevice{}, false
	}
	text := firstOf(lookup, visibleVar)
	if strings.TrimSpace(text) == "" {
		return VisibleDevice{Kind: DeviceIndex, Index: local}, true
	}
	switch visible := ParseVisible(text); {
	case len(visible) == 1:
		return visible[0], true
	case local < len(visible):
		return visible[local], true
	}
	return VisibleDevice{}, false
}

// PhysicalIndex returns the index on the host of the GPU of the process, as far
// as the environment says it: CUDA_VISIBLE_DEVICES may hide it behind a UUID.
// given is the local rank, or empty to read it from the environment.
func PhysicalIndex(given string, lookup func(string) (string, bool)) (index int, ok bool) {
	d, ok := device(localRank(given, lookup), lookup)
	return d.Index, ok && d.Kind == DeviceIndex
}

// gpuIdentity describes the GPU of the process: nothing unless index, model and
// UUID are known.
func (d *detector) gpuIdentity() []attribute.KeyValue {
	want, ok := device(localRank(d.LocalRank, d.Lookup), d.Lookup)
	if text, set := d.Lookup(visibleVar); set && strings.TrimSpace(text) == "" {
		ok = false // set and blank hides every device
	}
	if !ok {
		return nil
	}
	// nvidia-smi knows all that the files know and more.
	for _, list := range [][]gpu{d.smi(), d.driver.devices()} {
		index, ok := find(list, want)
		if !ok || list[index].model == "" || list[index].uuid == "" {
			continue
		}
		return list[index].attributes(index)
	}
	return nil
}

func find(list []gpu, want VisibleDevice) (index int, ok bool) {
	switch want.Kind {
	case DeviceIndex:
		return want.Index, want.Index < len(list)
	case DeviceUUID:
		return byUUID(list, want.Text)
	case DeviceMIG:
		// MIG-GPU-<uuid>/<gpu instance>/<compute instance>; the new form says
		// nothing about its GPU.
		uuid, _, _ := strings.Cut(strings.TrimPrefix(want.Text, "MIG-"), "/")
		if strings.HasPrefix(uuid, "GPU-") {
			return byUUID(list, uuid)
		}
	}
	return 0, false
}

func (g gpu) attributes(index int) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.NVGPUIndexKey.Int(index)}
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
