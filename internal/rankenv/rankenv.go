package rankenv

import (
	"errors"
	"fmt"
	"strconv"
)

// Launcher names the kind of source that an identity came from.
type Launcher string

// The launchers, in the order in which they are believed.
const (
	Torchrun           Launcher = "torchrun"
	Slurm              Launcher = "SLURM"
	OpenMPI            Launcher = "Open MPI"
	PMI                Launcher = "PMI"
	PMIx               Launcher = "PMIx"
	Kubernetes         Launcher = "Kubernetes indexed job"
	ResourceAttributes Launcher = "OTEL_RESOURCE_ATTRIBUTES"
)

// Identity is the place of a process in its job. The zero value means that
// nothing was found.
type Identity struct {
	Found     bool
	Rank      int // 0 <= Rank < WorldSize
	WorldSize int
	LocalRank int // index on the node; -1 if the launcher does not say
	Launcher  Launcher
}

// String shows the identity in one line, for a log.
func (id Identity) String() string {
	if !id.Found {
		return "no rank in the environment"
	}
	return fmt.Sprintf("rank %d of %d (%s)", id.Rank, id.WorldSize, id.Launcher)
}

// Warning is a sentence for a log about something that did not decide the
// result and deserves a look.
type Warning string

// String returns the sentence.
func (w Warning) String() string { return string(w) }

// Resolve reads the identity of this process through lookup (os.LookupEnv). With
// nothing set it returns the zero Identity and no error. An error names every
// variable that is wrong, its value and the remedy; warnings can come with any
// result. Resolve reads nothing but the environment.
func Resolve(lookup func(string) (string, bool)) (Identity, []Warning, error) {
	env := newEnviron(lookup)
	var (
		claims   []claim
		warnings []Warning
		faults   []error
		sizeOnly []claim
		batch    claim
	)
	for _, s := range sources {
		c, err := s.read(env)
		switch {
		case s.launcher == Slurm && c.hasRank && isBatchScript(env):
			batch = c
		case err != nil && !c.hasRank:
			sizeOnly = append(sizeOnly, c) // said below if nobody makes use of it
		case err != nil && anyComplete(claims):
			warnings = append(warnings, Warning(err.Error()))
		case err != nil:
			faults = append(faults, err)
		case c.hasRank:
			claims = append(claims, c)
		}
	}
	if len(faults) > 0 {
		return Identity{}, warnings, errors.Join(faults...)
	}
	claims = withoutDaemons(claims)
	for i, c := range claims {
		if c.world == 0 {
			continue // a rank without a size cannot decide
		}
		more, local := compare(env, c, append(claims[:i:i], claims[i+1:]...))
		for _, s := range sizeOnly {
			if s.world != c.world {
				more = append(more, disagreement(c, s))
			}
		}
		return Identity{Found: true, Rank: c.rank, WorldSize: c.world, LocalRank: local, Launcher: c.launcher}, append(warnings, more...), nil
	}
	for _, c := range claims {
		faults = append(faults, fmt.Errorf("lens: %s gives a rank and nothing gives the world size: set WORLD_SIZE to the number of processes, or unset %s", c.text(), c.rankVar))
	}
	for _, s := range sizeOnly {
		faults = append(faults, fmt.Errorf("lens: %s is set and %s is not: set both or neither", s.text(), s.rankVar))
	}
	if len(faults) == 0 && batch.world > 1 {
		warnings = append(warnings, Warning(fmt.Sprintf(
			"%s belongs to a SLURM batch script, not to a task, and is ignored: start the ranks with srun, or set RANK and WORLD_SIZE", batch.text())))
	}
	return Identity{}, warnings, errors.Join(faults...)
}

func anyComplete(claims []claim) bool {
	for _, c := range claims {
		if c.world > 0 {
			return true
		}
	}
	return false
}

// withoutDaemons drops the SLURM claim if an MPI launcher runs a larger world
// inside its step.
func withoutDaemons(claims []claim) []claim {
	mpiWorld := 0
	for _, c := range claims {
		if c.launcher == OpenMPI || c.launcher == PMI {
			mpiWorld = max(mpiWorld, c.world)
		}
	}
	var out []claim
	for _, c := range claims {
		if c.launcher == Slurm && c.world < mpiWorld {
			continue
		}
		out = append(out, c)
	}
	return out
}

// compare holds the winner against the other claims. The local rank is the
// winner's, else that of the first claim for the same place.
func compare(env environ, winner claim, others []claim) (warnings []Warning, local int) {
	local = winner.local
	for _, c := range others {
		switch {
		case c.rank == winner.rank && (c.world == winner.world || c.world == 0):
			if local < 0 {
				local = c.local
			}
		case !isOuter(env, winner, c):
			warnings = append(warnings, disagreement(winner, c))
		}
	}
	return warnings, local
}

func disagreement(winner, other claim) Warning {
	return Warning(fmt.Sprintf("%s (%s) and %s (%s) disagree about the rank; what %s says is used. Unset the variables that were inherited by mistake",
		winner.text(), winner.launcher, other.text(), other.launcher, winner.launcher))
}

// isOuter reports whether c describes the node-level launcher around torchrun:
// its rank is the index of the node, its world the number of nodes.
func isOuter(env environ, winner, c claim) bool {
	if winner.launcher != Torchrun {
		return false
	}
	node, hasNode := env.number("GROUP_RANK", "NODE_RANK")
	nodes, hasNodes := env.number("GROUP_WORLD_SIZE")
	if perNode, ok := env.number("LOCAL_WORLD_SIZE"); ok && perNode > 0 {
		if !hasNode {
			node, hasNode = winner.rank/perNode, true
		}
		if !hasNodes {
			nodes, hasNodes = winner.world/perNode, true
		}
	}
	sizeFits := c.borrowed || c.world == 0 || !hasNodes || c.world == nodes
	return hasNode && c.rank == node && sizeFits
}

// isBatchScript reports whether SLURM_PROCID comes from a batch script or an
// interactive shell instead of a task of a step.
func isBatchScript(env environ) bool {
	step, isStep := env.text("SLURM_STEP_ID", "SLURM_STEPID")
	if isStep {
		// The ids above 0xfffffff0 are no steps of ranks: batch script,
		// external and interactive step.
		id, err := strconv.ParseUint(step, 10, 32)
		return err == nil && id >= 0xfffffff0
	}
	_, inJob := env.text("SLURM_JOB_ID", "SLURM_JOBID")
	rank, ok := env.number("SLURM_PROCID")
	return inJob && ok && rank == 0
}
