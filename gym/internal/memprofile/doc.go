// Package memprofile samples the memory of the servers that a supervisor started, each with its whole process tree,
// and of the host they share.
//
//	p, err := memprofile.New(meter, memprofile.Config{Targets: []memprofile.Target{{Name: "judge", Type: "resources", PID: pid}}})
//	p.Start()      // takes the first sample before it returns
//	defer p.Stop() // takes the last
//
// # What is measured
//
//   - gym.server.memory.usage and gym.server.memory.sampled_peak, in bytes, by nemo.gym.server.name,
//     nemo.gym.server.type, process.pid (of the root) and memory.type (rss or pss)
//   - gym.server.processes, by the first three
//   - gym.host.memory.usage, .available, .total and .sampled_peak, in bytes, without attributes
//
// All are observable gauges that show the latest sample, so a series that has no value now is absent and does not
// linger. They go on showing the last sample after [Profiler.Stop], for the final flush, until
// [Profiler.Unregister].
//
// # What the numbers mean
//
// The host's usage is total minus available, which counts what programs could not be given, and not the "used" of
// tools that subtract caches. A tree is the root and whatever it started, found through
// /proc/<pid>/task/*/children, or by a scan of the parents in /proc/*/stat where the kernel lacks the former
// (CONFIG_PROC_CHILDREN). A detached process that was adopted by another parent is no longer in the tree, and what
// runs on another host never was. RSS counts a page shared by n processes n times in a sum; PSS counts it once, so
// it is the sum of PSS to compare with the host. If the PSS of any process of a tree cannot be read, the tree has no
// PSS. A root that is gone has 0 processes and 0 bytes. Peaks are those of the samples: what rose and fell between
// two was not seen.
//
// # Cost
//
// The kernel computes PSS by walking every page table of the process, which takes 30 microseconds for a small
// process and milliseconds for one of some hundred megabytes. Doing that for many servers each second is no longer
// a light thing to run beside them. So a profiler has a budget, [DefaultBudget] unless [Config] says otherwise.
// Within it a sample reads trees in full, in rotation; the others keep their PSS and their list of processes from
// their last turn, and their RSS is moved by what /proc/<pid>/statm says has changed since (exact up to the kernel's
// per-CPU counters, tens of pages). The first sample, the last, and every sample where the budget suffices, read
// everything.
//
// # Differences from the reference
//
// Names, attributes and the rules above are those of NeMo Gym 0.5.1, which reads every tree in full at each sample:
// that is [Unlimited]. The budget and the scan of parents are additions. A zombie, whose memory is gone, counts as a
// process with 0 bytes of PSS; in the reference it would take the PSS of its tree away.
//
// The profiler runs on Linux. Elsewhere [New] and [New] say so.
package memprofile
