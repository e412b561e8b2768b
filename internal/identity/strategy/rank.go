package strategy

import (
	"fmt"
	"strconv"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// SingleRank reports whether rank is the one rank that exports: exportRank, or
// the last rank of the world when exportRank is negative. There is no bounds
// check: an exportRank beyond the world means that nobody exports.
func SingleRank(exportRank, rank, world int) bool {
	if exportRank >= 0 {
		return rank == exportRank
	}
	return rank == world-1
}

// LocalRankVars lists the variables that hold the index of a process on its
// node, in the order in which they are consulted. Launchers nest: torchrun runs
// under srun or mpirun, and mpirun starts its daemons with srun, so the
// innermost launcher comes first and SLURM last. The names are of torchrun, Open
// MPI, MPICH and Intel MPI, MVAPICH, HPE's PALS, Cray MPICH, Flux and SLURM.
func LocalRankVars() []string {
	return []string{
		"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
		"PALS_LOCAL_RANKID", "PMI_LOCAL_RANK", "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID",
	}
}

// FirstRankPerNode reports whether this process is the first one of its node:
// whether the first of [LocalRankVars] that is set and not blank is 0. With
// none set the answer is true, as a process started alone is the first of its
// node. A LOCAL_RANK of 0 is that of one torchrun, of which a node can run one
// for each task of an outer launcher; then the outer local rank has to be 0,
// too, unless the torchrun is a job of its own. Text that is not a whole number
// is an error that names the variable.
func FirstRankPerNode(lookup envtext.Lookup) (bool, error) {
	names := LocalRankVars()
	rank, name, err := localRank(lookup, names)
	if err != nil || name == "" || rank != 0 {
		return rank == 0 && err == nil, err
	}
	if name != names[0] || isWholeJob(lookup) {
		return true, nil
	}
	rank, _, err = localRank(lookup, names[1:])
	return rank == 0 && err == nil, err
}

// localRank reads the first of the variables that is set; name is empty when
// none is.
func localRank(lookup envtext.Lookup, names []string) (rank int64, name string, err error) {
	text, name := envtext.First(lookup, names...)
	if name == "" {
		return 0, "", nil
	}
	if rank, err = strconv.ParseInt(text, 10, 64); err != nil {
		return 0, name, fmt.Errorf("lens: %s=%s: want the whole number that the launcher gives, 0 for the first process of a node; correct or unset it", name, envtext.Quote(text))
	}
	return rank, name, nil
}

// isWholeJob reports whether one torchrun on this node runs the whole job.
func isWholeJob(lookup envtext.Lookup) bool {
	world, name := envtext.First(lookup, "WORLD_SIZE")
	local, _ := envtext.First(lookup, "LOCAL_WORLD_SIZE")
	return name != "" && world == local
}
