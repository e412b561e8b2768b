// Package detect describes where a process lives as resource attributes: host
// and process, SLURM job, Kubernetes pod, number and identity of its GPUs.
//
// [Detect] reads the environment and a few files under /proc and /sys. It never
// fails, starts no process unless [Options.NvidiaSMI] asks for it, and records
// neither command arguments nor the owner of the process. Outside Linux the
// files do not exist and what they would say is left out; [ProcessStartTime]
// returns an error there.
//
// # GPU count
//
// host.gpu.count counts CUDA_VISIBLE_DEVICES as NeMo Lens does, so that Go and
// Python ranks of one job agree: 0 if it is set and blank, else the number of
// its comma-separated pieces, whatever they are; indices, UUIDs (GPU-...) and
// MIG devices (MIG-...) count one each. One rule of CUDA is added, about which
// the reference's test data say nothing: a negative index ends the list, so that
// "-1" gives 0 and "0,1,-1,2" gives 2. Where CUDA would see another number of
// devices, as with "NoDevFiles", "all" or "0,,1", a warning says so; with
// [Options.ExactGPUCount] CUDA's own number is used instead.
//
// Without the variable the devices of the NVIDIA driver are counted, from its
// files under /proc/driver/nvidia/gpus and else from the PCI devices bound to it
// under /sys. The reference runs nvidia-smi here. Nothing found: no attribute.
//
// # GPU identity
//
// The GPU of a process is the visible device at its local rank. The reference
// detects nothing when that entry is not an index or out of range. Here UUIDs
// are looked up among the driver's devices (an old MIG name holds the UUID of
// its GPU), and a process that sees exactly one device has that one whatever
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
