package strategy

import (
	"fmt"
	"strconv"
	"strings"
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
// innermost launcher comes first and SLURM last.
func LocalRankVars() []string {
	return []string{"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}
}

// FirstRankPerNode reports whether this process is the first one of its node:
// whether the first of [LocalRankVars] that is set and not blank is 0. With
// none set the answer is true, as a process started alone is the first of its
// node. Text that is not a whole number is an error that names the variable.
func FirstRankPerNode(lookup func(string) (string, bool)) (bool, error) {
	for _, name := range LocalRankVars() {
		text, _ := lookup(name)
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		rank, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return false, fmt.Errorf("lens: %s=%q: want the whole number that the launcher gives, 0 for the first process of a node; correct or unset it", name, text)
		}
		return rank == 0, nil
	}
	return true, nil
}
