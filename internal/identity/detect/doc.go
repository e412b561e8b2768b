// Package detect describes where a process lives as resource attributes: host
// and process, SLURM job, Kubernetes pod, number and identity of its GPUs.
//
// [Detect] reads the environment and a few files under /proc and /sys. It never
// fails, starts no process unless [Options.NvidiaSMI] asks for it, and records
// neither command arguments nor the owner of the process. Outside Linux the
// files do not exist and what they would say is left out.
//
// # GPU count
//
// host.gpu.count is the number of devices that CUDA shows to the process: those
// of CUDA_VISIBLE_DEVICES by NVIDIA's own rules, which package nvidia has. NeMo
// Lens counts the comma-separated pieces instead, so that "-1" and "NoDevFiles"
// are 1 there and 0 here, and "0,-1,1" is 3 there and 1 here. Whether an entry
// names a device is checked where the driver's devices are known.
//
// Without the variable the devices of the NVIDIA driver are counted, from its
// files under /proc/driver/nvidia/gpus and else from the PCI devices bound to it
// under /sys. The reference runs nvidia-smi here. Nothing found: no attribute.
//
// # GPU identity
//
// The GPU of a process is the visible device at its local rank. The reference
// detects nothing when that entry is not an index or out of range. Here UUIDs,
// also cut short, are looked up among the driver's devices (an old MIG name holds
// the UUID of its GPU), and a process that sees exactly one device has that one whatever
// its local rank. Indices count in the order of PCI bus addresses, which is that
// of NVML, and of CUDA unless a node mixes models without
// CUDA_DEVICE_ORDER=PCI_BUS_ID. The serial number, compute capability and memory
// size are not in files; nvidia-smi adds them where it is allowed.
//
// # SLURM
//
// [SlurmBase] is the table of NeMo Lens v0.2.0, all text. [SlurmNewer] is that of
// the newer versions, which prefers what a launcher handed down in
// OTEL_RESOURCE_ATTRIBUTES. They disagree about types and about slurm.job.id of
// array elements, so one of them is chosen, by default the base.
//
// Everything here is safe for concurrent use.
package detect
