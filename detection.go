package lens

import "time"

// Detection is for [WithDetection]; the zero value is the default. Everything
// is read from the environment and from files under /proc and /sys, and what is
// not there is left out.
type Detection struct {
	// GPUIdentity adds the nv.gpu attributes of the GPU of this process.
	GPUIdentity bool

	// NvidiaSMI runs nvidia-smi for what the driver's files do not say. It is
	// the only subprocess that lens ever starts; it is killed after
	// NvidiaSMITimeout, 5 s when that is zero.
	NvidiaSMI        bool
	NvidiaSMITimeout time.Duration

	// SlurmNewer takes the SLURM attributes of the newer reference, with the
	// nv.slurm names, in place of those of its version 0.2.0.
	SlurmNewer bool

	// ProcessStart adds process.creation.time.
	ProcessStart bool
}
