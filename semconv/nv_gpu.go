package semconv

import "go.opentelemetry.io/otel/attribute"

// Identity of the GPU that a process uses.
const (
	// NVGPUIndexKey is "nv.gpu.index": the physical index of the GPU on its host,
	// in the order of PCI bus addresses.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUIndexKey = attribute.Key("nv.gpu.index")

	// NVGPUUUIDKey is "nv.gpu.uuid": the UUID of the GPU.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUUUIDKey = attribute.Key("nv.gpu.uuid")

	// NVGPUModelKey is "nv.gpu.model": the product name of the GPU.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUModelKey = attribute.Key("nv.gpu.model")

	// NVGPUSerialKey is "nv.gpu.serial": the serial number of the board.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUSerialKey = attribute.Key("nv.gpu.serial")

	// NVGPUPCIBusIDKey is "nv.gpu.pci_bus_id": the PCI address of the GPU.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUPCIBusIDKey = attribute.Key("nv.gpu.pci_bus_id")

	// NVGPUComputeCapabilityKey is "nv.gpu.compute_capability": the compute
	// capability as major.minor text; not a number, as 9.0 and 9 differ.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUComputeCapabilityKey = attribute.Key("nv.gpu.compute_capability")

	// NVGPUMemoryTotalKey is "nv.gpu.memory_total": the total memory of the GPU in
	// bytes.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUMemoryTotalKey = attribute.Key("nv.gpu.memory_total")

	// NVGPUDriverVersionKey is "nv.gpu.driver_version": the version of the NVIDIA
	// driver.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVGPUDriverVersionKey = attribute.Key("nv.gpu.driver_version")
)
