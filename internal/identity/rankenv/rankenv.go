package rankenv

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// Launcher names the kind of source that an identity came from.
type Launcher string

// The launchers, in the order in which they are believed when they agree or
// nothing says which of them is the inner one.
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

// Resolve reads the identity of this process through lookup (os.LookupEnv). With
// nothing set it returns the zero Identity and no error. An error names every
// variable that is wrong, its value and the remedy; warnings can come with any
// result. Resolve reads nothing but the environment.
func Resolve(lookup envtext.Lookup) (Identity, []envtext.Warning, error) {
	env := newEnviron(lookup)
	var (
		claims   []claim
		warnings []envtext.Warning
		faults   []error
		sizeOnly []claim
		shell    claim // of a batch script or a terminal
	)
	for _, s := range sources {
		c, err := s.read(env)
		switch {
		case s.launcher == Slurm && c.hasRank && isShell(env):
			shell = c
		case err != nil && !c.hasRank:
			sizeOnly = append(sizeOnly, c) // said below if nobody makes use of it
		case err != nil && anyComplete(claims):
			warnings = append(warnings, envtext.Warning(err.Error()))
		case err != nil:
			faults = append(faults, err)
		case c.hasRank:
			claims = append(claims, c)
		}
	}
	if len(faults) > 0 {
		return Identity{}, warnings, errors.Join(faults...)
	}
	claims, outer := innermost(claims)
	claims, podWarnings := withoutPods(env, claims)
	warnings = append(warnings, podWarnings...)
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
		for _, o := range outer {
			if o.world == c.world && o.rank != c.rank {
				more = append(more, disagreement(c, o))
			}
		}
		return Identity{Found: true, Rank: c.rank, WorldSize: c.world, LocalRank: local, Launcher: c.launcher}, append(warnings, more...), nil
	}
	for _, c := range claims {
		warnings = append(warnings, envtext.Warning(fmt.Sprintf(
			"%s (%s) gives a rank and nothing gives the world size, so that it is ignored: set WORLD_SIZE to the number of processes", c.text(), c.launcher)))
	}
	for _, s := range sizeOnly {
		faults = append(faults, fmt.Errorf("lens: %s is set and %s is not: set both or neither", s.text(), s.rankVar))
	}
	if len(faults) == 0 && shell.world > 1 {
		what := "a SLURM batch script"
		if isTerminal(env) {
			what = "a terminal (srun --pty)"
		}
		warnings = append(warnings, envtext.Warning(fmt.Sprintf(
			"%s belongs to %s, not to a task of its own, and is ignored: start the ranks with srun, or set RANK and WORLD_SIZE", shell.text(), what)))
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

// innermost sets the SLURM claim aside where an MPI launcher runs ranks of its
// own inside the step: its daemons and proxies are the step's tasks, and so is
// the shell that it was called from, and all of its ranks inherit the number of
// one. srun as the launcher of MPI gives both families the same numbers. An MPI
// world of one process is a program that nobody launched, or one in each task,
// and says nothing about the step.
func innermost(claims []claim) (inner, outer []claim) {
	mpi := claim{}
	for _, c := range claims {
		if (c.launcher == OpenMPI || c.launcher == PMI) && c.world > 1 && mpi.world == 0 {
			mpi = c
		}
	}
	for _, c := range claims {
		switch {
		case c.launcher == Slurm && mpi.world > 0 && (c.world != mpi.world || c.rank != mpi.rank):
			outer = append(outer, c)
		case c.launcher == PMI && mpi.launcher == OpenMPI && (c.world != mpi.world || c.rank != mpi.rank):
			outer = append(outer, c) // of the step that mpirun's daemons are
		default:
			inner = append(inner, c)
		}
	}
	return inner, outer
}

// withoutPods corrects the pair that Kubeflow gives to each pod of a PyTorchJob
// and that torchrun replaces in its workers: RANK counts the pods, WORLD_SIZE
// the processes of all of them. In a program that runs without torchrun no
// process has the last ranks.
func withoutPods(env environ, claims []claim) ([]claim, []envtext.Warning) {
	var warnings []envtext.Warning
	for i, c := range claims {
		if c.launcher != Torchrun || c.local >= 0 {
			continue // LOCAL_RANK is torchrun's: the pair is of this process
		}
		pods, ok := env.number("PET_NNODES")
		if !ok || pods < 1 || pods >= c.world || c.rank >= pods {
			continue
		}
		if pod, ok := env.number("PET_NODE_RANK"); ok && pod != c.rank {
			continue
		}
		warnings = append(warnings, envtext.Warning(fmt.Sprintf(
			"RANK=%q counts the pods of the job (PET_NNODES is %d) and WORLD_SIZE=%q their processes, so that no process would have rank %d; "+
				"this one counts as rank %d of %d. Start it with torchrun, or set RANK and WORLD_SIZE for each process",
			c.rankText, pods, c.worldText, c.world-1, c.rank, pods)))
		claims[i].world = pods
	}
	return claims, warnings
}

// compare holds the winner against the other claims. The local rank is the
// winner's, else that of the first claim for the same place.
func compare(env environ, winner claim, others []claim) (warnings []envtext.Warning, local int) {
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

func disagreement(winner, other claim) envtext.Warning {
	return envtext.Warning(fmt.Sprintf("%s (%s) and %s (%s) disagree about the rank; what %s says is used. Unset the variables that were inherited by mistake",
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

// isShell reports whether SLURM_PROCID comes from a batch script, an interactive
// step or a terminal instead of a task that runs the application.
func isShell(env environ) bool {
	if isTerminal(env) {
		return true
	}
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

// isTerminal reports whether this is the step of "srun --pty bash", of whose
// tasks only the first has the terminal and the others end at once. Steps that
// are started in that shell inherit its variables, and have higher ids.
func isTerminal(env environ) bool {
	if _, ok := env.text("SLURM_PTY_PORT"); !ok {
		return false
	}
	rank, ok := env.number("SLURM_PROCID")
	step, isStep := env.number("SLURM_STEP_ID", "SLURM_STEPID")
	return ok && rank == 0 && (!isStep || step == 0)
}
