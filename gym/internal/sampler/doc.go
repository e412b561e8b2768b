// Package sampler takes samples of a process and its host that belong to a moment: processor and memory use while a span
// is open, and the use of the graphics processors every few seconds.
//
// # At a span
//
// [CPU] and [HostMemory] are asked for a value from inside a live span, and put it on the span and into a gauge. The
// point carries that span as its exemplar, if the span is sampled. They read the system at most once an interval and
// answer from memory in between, so they may be asked at each request. A nil *CPU or *HostMemory is one that is off.
//
//		cpu, err := sampler.NewCPU(meter, time.Second)
//		ctx, span := tracer.Start(ctx, "gym.verify")
//		defer span.End()
//		cpu.Annotate(ctx)
//
//	  - gym.process.cpu.percent, a gauge in %, and the attribute nemo.gym.cpu.percent. 100 is one logical core. It is the
//	    mean since the read before, so the first call has no value yet.
//	  - gym.host.memory_used_mib and gym.host.memory_total_mib, gauges in MiB, and the attributes
//	    nemo.gym.host.memory_used_mib and nemo.gym.host.memory_total_mib. Used is total minus available. Linux only.
//	  - [HostCPUs] returns the resource attributes nemo.gym.host.cpu_count_logical and nemo.gym.host.cpu_count_physical.
//
// # Graphics processors
//
// [GPU] runs a program, nvidia-smi, every ten seconds. It does so only where the configuration hands it [NVIDIASMI], or
// another [Runner], explicitly.
//
//   - gym.process.gpu.utilization_percent (%), gym.process.gpu.memory_used_mib and gym.process.gpu.memory_total_mib
//     (MiB), gauges by nemo.gym.gpu.index and nemo.gym.gpu.uuid. Despite the names, which are the reference's, the values
//     are those of the device, with whatever else runs on it.
//
// # Differences from the reference
//
// These samplers exist in versions of NeMo Gym other than 0.5.1, and their settings' names are only partly documented. No
// parity is claimed. The reference opens a handle on its process once; Go asks the kernel for its own process and has no
// handle. The physical cores come from Linux's sysfs, and are absent elsewhere.
package sampler
