package rankenv

import (
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// source says where a launcher leaves its numbers. Of several names the first
// that is set counts.
type source struct {
	launcher           Launcher
	rank, world, local []string
	// sizeOptional marks launchers that export no size of their own: a rank
	// alone is no fault, and the size may be WORLD_SIZE.
	sizeOptional bool
}

var sources = []source{
	{launcher: Torchrun, rank: []string{"RANK"}, world: []string{"WORLD_SIZE"}, local: []string{"LOCAL_RANK"}},
	{launcher: Slurm, rank: []string{"SLURM_PROCID"}, world: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}, local: []string{"SLURM_LOCALID"}},
	{launcher: OpenMPI, rank: []string{"OMPI_COMM_WORLD_RANK"}, world: []string{"OMPI_COMM_WORLD_SIZE"}, local: []string{"OMPI_COMM_WORLD_LOCAL_RANK"}},
	{launcher: PMI, rank: []string{"PMI_RANK"}, world: []string{"PMI_SIZE"}, local: []string{"MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"}},
	{launcher: PMIx, rank: []string{"PMIX_RANK"}, sizeOptional: true},
	{launcher: Kubernetes, rank: []string{"JOB_COMPLETION_INDEX"}, sizeOptional: true},
	{
		launcher: ResourceAttributes, sizeOptional: true,
		rank:  []string{attr + string(semconv.NVDLRankKey), attr + string(semconv.DLRankKey)},
		world: []string{attr + string(semconv.NVDLWorldSizeKey), attr + string(semconv.DLWorldSizeKey)},
		local: []string{attr + string(semconv.NVDLLocalRankKey), attr + string(semconv.DLLocalRankKey)},
	},
}

// attr marks the name of a resource attribute among names of variables.
const attr = resattr.EnvVar + ":"

// claim is what one source says. world is 0 where it says nothing about it,
// local is -1.
type claim struct {
	launcher           Launcher
	rank, world, local int
	rankVar, worldVar  string
	hasRank            bool
	borrowed           bool // the size is WORLD_SIZE of another launcher
	rankText           string
	worldText          string
}

// text shows the claim as it stands in the environment.
func (c claim) text() string {
	var parts []string
	if c.rankText != "" {
		parts = append(parts, assignment(c.rankVar, c.rankText))
	}
	if c.worldText != "" {
		parts = append(parts, assignment(c.worldVar, c.worldText))
	}
	return strings.Join(parts, " ")
}

func assignment(name, text string) string {
	if key, ok := strings.CutPrefix(name, attr); ok {
		return key + "=" + envtext.Quote(text) + " in " + resattr.EnvVar
	}
	return name + "=" + envtext.Quote(text)
}

// read collects the claim of s. An error with hasRank means that the source is
// present and wrong; one without means that only a size is set.
func (s source) read(env environ) (c claim, err error) {
	c = claim{launcher: s.launcher, local: -1, rankVar: s.rank[0]}
	rank, hasRank := env.find(s.rank...)
	world, hasWorld := env.find(s.world...)
	if s.sizeOptional && !hasWorld && hasRank {
		world, hasWorld = env.find("WORLD_SIZE")
		c.borrowed = hasWorld
	}
	c.hasRank = hasRank
	if hasRank {
		c.rankVar, c.rankText = rank.name, rank.text
	}
	if hasWorld {
		c.worldVar, c.worldText = world.name, world.text
	}
	if hasRank {
		if c.rank, err = rank.number(0, "the rank of this process"); err != nil {
			return c, err
		}
	}
	if hasWorld {
		if c.world, err = world.number(1, "the number of processes of the job"); err != nil {
			return c, err
		}
	}
	switch {
	case !hasRank && !hasWorld:
		return c, nil
	case !hasRank && (s.launcher == Slurm || s.launcher == ResourceAttributes):
		return claim{}, nil // a label, or salloc and sbatch: no sign of a rank
	case !hasRank:
		return c, fmt.Errorf("lens: %s without a rank", c.text())
	case !hasWorld && !s.sizeOptional:
		return c, fmt.Errorf("lens: %s is set and %s is not: set both or neither", c.text(), s.world[0])
	case hasWorld && c.rank >= c.world:
		return c, fmt.Errorf("lens: %s: want 0 <= rank < world size; correct them or unset both", c.text())
	}
	return c, s.readLocal(env, &c)
}

func (s source) readLocal(env environ, c *claim) error {
	local, ok := env.find(s.local...)
	if !ok {
		return nil
	}
	n, err := local.number(0, "the index of this process on its node")
	if err != nil {
		return err
	}
	if c.world > 0 && n >= c.world {
		return fmt.Errorf("lens: %s with %s: want a local rank below the world size; correct or unset it", assignment(local.name, local.text), assignment(c.worldVar, c.worldText))
	}
	c.local = n
	return nil
}

// environ reads variables and resource attributes; blank counts as unset.
type environ struct {
	lookup envtext.Lookup
	attrs  map[attribute.Key]string
}

func newEnviron(lookup envtext.Lookup) environ {
	env := environ{lookup: lookup}
	if text, _ := envtext.First(lookup, resattr.EnvVar); text != "" {
		// Whoever builds the resource reports what is wrong with the text.
		attrs, _ := resattr.Parse(text)
		env.attrs = make(map[attribute.Key]string, len(attrs))
		for _, kv := range attrs {
			env.attrs[kv.Key] = kv.Value.AsString()
		}
	}
	return env
}

// variable is a set variable or resource attribute.
type variable struct{ name, text string }

func (e environ) find(names ...string) (variable, bool) {
	for _, name := range names {
		text := ""
		if key, ok := strings.CutPrefix(name, attr); ok {
			text = e.attrs[attribute.Key(key)]
		} else {
			text, _ = e.lookup(name)
		}
		if text = envtext.Clean(text); text != "" {
			return variable{name, text}, true
		}
	}
	return variable{}, false
}

func (e environ) text(names ...string) (string, bool) {
	v, ok := e.find(names...)
	return v.text, ok
}

// number reads a variable that only helps to understand others: junk is as good
// as nothing.
func (e environ) number(names ...string) (int, bool) {
	v, ok := e.find(names...)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(v.text)
	return n, err == nil
}

func (v variable) number(least int, meaning string) (int, error) {
	n, err := strconv.Atoi(v.text)
	if err != nil || n < least {
		return 0, fmt.Errorf("lens: %s: want a whole number of at least %d, %s; correct or unset it", assignment(v.name, v.text), least, meaning)
	}
	return n, nil
}
