package rankenv

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

type environment map[string]string

func (e environment) lookup(name string) (string, bool) { v, ok := e[name]; return v, ok }

// with lays more over e.
func (e environment) with(more environment) environment {
	out := maps.Clone(e)
	maps.Copy(out, more)
	return out
}

var (
	torchrun = environment{"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}
	srun     = environment{"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": "5", "SLURM_NTASKS": "16", "SLURM_STEP_NUM_TASKS": "16", "SLURM_LOCALID": "2"}
	mpirun   = environment{"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
	hydra    = environment{"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1"}
	sbatch   = environment{"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_NTASKS": "16", "SLURM_LOCALID": "0"}
)

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		env   environment
		want  Identity
		warns []string // each warning mentions its text
	}{
		{"nothing", nil, Identity{}, nil},
		{"blank is unset", environment{"RANK": " ", "WORLD_SIZE": ""}, Identity{}, nil},
		{"torchrun", torchrun, Identity{true, 3, 8, 1, Torchrun}, nil},
		{"torchrun without a local rank", environment{"RANK": "0", "WORLD_SIZE": "1"}, Identity{true, 0, 1, -1, Torchrun}, nil},
		{"padded", environment{"RANK": " +03 ", "WORLD_SIZE": "8 "}, Identity{true, 3, 8, -1, Torchrun}, nil},
		{"srun", srun, Identity{true, 5, 16, 2, Slurm}, nil},
		{"srun of an old release", environment{"SLURM_STEPID": "1", "SLURM_PROCID": "0", "SLURM_NPROCS": "2"}, Identity{true, 0, 2, -1, Slurm}, nil},
		{"step smaller than the job", srun.with(environment{"SLURM_NTASKS": "64"}), Identity{true, 5, 16, 2, Slurm}, nil},
		{"srun, no step id passed into the container", environment{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_LOCALID": "0"}, Identity{true, 0, 8, 0, Slurm}, nil},
		{"srun, positive task without a step id", environment{"SLURM_JOB_ID": "1", "SLURM_PROCID": "7", "SLURM_NTASKS": "8"}, Identity{true, 7, 8, -1, Slurm}, nil},
		{"batch script", sbatch, Identity{}, []string{"srun"}},
		{"batch script of one task", environment{"SLURM_JOB_ID": "1", "SLURM_PROCID": "0"}, Identity{}, nil},
		{"batch step id", sbatch.with(environment{"SLURM_STEP_ID": "4294967291"}), Identity{}, []string{"srun"}},
		{"interactive step", sbatch.with(environment{"SLURM_STEP_ID": "4294967290"}), Identity{}, []string{"srun"}},
		{"salloc shell", environment{"SLURM_JOB_ID": "1", "SLURM_NTASKS": "8"}, Identity{}, nil},
		{"torchrun from a batch script", torchrun.with(sbatch), Identity{true, 3, 8, 1, Torchrun}, nil},
		{"mpirun", mpirun, Identity{true, 2, 4, 0, OpenMPI}, nil},
		{"mpirun from a batch script", mpirun.with(sbatch), Identity{true, 2, 4, 0, OpenMPI}, nil},
		{"mpirun whose daemons are a step", mpirun.with(environment{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "3"}), Identity{true, 2, 4, 0, OpenMPI}, nil},
		{"hydra", hydra, Identity{true, 1, 2, 1, PMI}, nil},
		{"srun --mpi=pmi2", srun.with(environment{"PMI_RANK": "5", "PMI_SIZE": "16"}), Identity{true, 5, 16, 2, Slurm}, nil},
		{"srun --mpi=pmix", srun.with(environment{"PMIX_RANK": "5"}), Identity{true, 5, 16, 2, Slurm}, nil},
		{"pmix and a size", environment{"PMIX_RANK": "1", "WORLD_SIZE": "4"}, Identity{true, 1, 4, -1, PMIx}, nil},
		{"indexed job", environment{"JOB_COMPLETION_INDEX": "2", "WORLD_SIZE": "4"}, Identity{true, 2, 4, -1, Kubernetes}, nil},
		{"torchrun in an indexed job", torchrun.with(environment{"JOB_COMPLETION_INDEX": "1", "GROUP_RANK": "1", "GROUP_WORLD_SIZE": "4"}), Identity{true, 3, 8, 1, Torchrun}, nil},
		{"one torchrun a SLURM task", torchrun.with(environment{"LOCAL_WORLD_SIZE": "2", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "0"}), Identity{true, 3, 8, 1, Torchrun}, nil},
		{"ranks exported by hand from srun", environment{"RANK": "5", "WORLD_SIZE": "16"}.with(srun), Identity{true, 5, 16, 2, Torchrun}, nil},
		{"size exported by hand", srun.with(environment{"WORLD_SIZE": "16"}), Identity{true, 5, 16, 2, Slurm}, nil},
		{"wrong size exported by hand", srun.with(environment{"WORLD_SIZE": "8"}), Identity{true, 5, 16, 2, Slurm}, []string{`WORLD_SIZE="8"`}},
		{"resource attributes", environment{"OTEL_RESOURCE_ATTRIBUTES": "a=1,,nv.dl.rank=1,nv.dl.world_size=2,nv.dl.local_rank=0"}, Identity{true, 1, 2, 0, ResourceAttributes}, nil},
		{"older attributes", environment{"OTEL_RESOURCE_ATTRIBUTES": "dl.rank=1,dl.world_size=2"}, Identity{true, 1, 2, -1, ResourceAttributes}, nil},
		{"attributes without a rank", environment{"OTEL_RESOURCE_ATTRIBUTES": "nv.dl.world_size=2"}, Identity{}, nil},
		{"contradiction", torchrun.with(srun), Identity{true, 3, 8, 1, Torchrun}, []string{`SLURM_PROCID="5" SLURM_STEP_NUM_TASKS="16" (SLURM)`}},
		{"three of them", torchrun.with(srun).with(mpirun), Identity{true, 3, 8, 1, Torchrun}, []string{`OMPI_COMM_WORLD_RANK="2"`}},
		{"torchrun around an MPI singleton", torchrun.with(environment{"PMI_RANK": "3", "PMI_SIZE": "8"}), Identity{true, 3, 8, 1, Torchrun}, nil},
		{"inherited attributes of another rank", torchrun.with(environment{"OTEL_RESOURCE_ATTRIBUTES": "nv.dl.rank=0"}), Identity{true, 3, 8, 1, Torchrun}, []string{`nv.dl.rank="0" in OTEL_RESOURCE_ATTRIBUTES`}},
		{"bad text behind a complete source", torchrun.with(environment{"PMI_RANK": "x", "PMI_SIZE": "2"}), Identity{true, 3, 8, 1, Torchrun}, []string{`PMI_RANK="x"`}},
		{"half a pair behind a complete source", torchrun.with(environment{"PMI_SIZE": "2"}), Identity{true, 3, 8, 1, Torchrun}, []string{`PMI_SIZE="2"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, warnings, err := Resolve(c.env.lookup)
			if err != nil || got != c.want {
				t.Fatalf("got %+v, %v, want %+v", got, err, c.want)
			}
			if len(warnings) != len(c.warns) {
				t.Fatalf("warnings %q, want %d", warnings, len(c.warns))
			}
			for i, w := range warnings {
				if !strings.Contains(w.String(), c.warns[i]) {
					t.Errorf("warning %q does not mention %s", w, c.warns[i])
				}
			}
		})
	}
}

func TestFieldC5TheInnerLauncherWins(t *testing.T) {
	t.Parallel()
	pty := environment{"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "0", "SLURM_PTY_PORT": "34889"}
	two := environment{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
	for _, c := range []struct {
		name string
		env  environment
		want Identity
		warn string
	}{
		{"mpirun in a task of a larger step", two.with(environment{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "7", "SLURM_NTASKS": "8", "SLURM_LOCALID": "3"}), Identity{true, 1, 2, 1, OpenMPI}, ""},
		{"mpirun in a terminal", pty.with(mpirun), Identity{true, 2, 4, 0, OpenMPI}, ""},
		{"mpiexec in a terminal", pty.with(hydra), Identity{true, 1, 2, 1, PMI}, ""},
		{"mpiexec in a step", srun.with(hydra), Identity{true, 1, 2, 1, PMI}, ""},
		{"proxies in as many tasks as ranks", hydra.with(environment{"SLURM_STEP_ID": "3", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}), Identity{true, 1, 2, 1, PMI}, "disagree"},
		{"daemons that srun gave PMI numbers", mpirun.with(environment{"PMI_RANK": "1", "PMI_SIZE": "2", "SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}), Identity{true, 2, 4, 0, OpenMPI}, ""},
		{"ranks by hand in a terminal", pty.with(environment{"RANK": "2", "WORLD_SIZE": "4"}), Identity{true, 2, 4, -1, Torchrun}, ""},
		{"a program that nobody launched, in a terminal", pty, Identity{}, "srun --pty"},
		{"srun in a terminal", pty.with(environment{"SLURM_STEP_ID": "1", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}), Identity{true, 0, 2, 0, Slurm}, ""},
		{"an MPI world of one in each task", srun.with(environment{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}), Identity{true, 5, 16, 2, Slurm}, "disagree"},
		{"PALS", environment{"PMI_RANK": "3", "PMI_SIZE": "8", "PALS_LOCAL_RANKID": "1"}, Identity{true, 3, 8, 1, PMI}, ""},
		{"quotes", environment{"RANK": `"3"`, "WORLD_SIZE": "'8'"}, Identity{true, 3, 8, -1, Torchrun}, ""},
	} {
		got, warnings, err := Resolve(c.env.lookup)
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
		if (c.warn != "") != (len(warnings) == 1) || c.warn != "" && !strings.Contains(string(warnings[0]), c.warn) {
			t.Errorf("%s: warnings %q, want %q", c.name, warnings, c.warn)
		}
	}
}

func TestFieldC8NobodyWouldExport(t *testing.T) {
	t.Parallel()
	kubeflow := environment{"RANK": "1", "WORLD_SIZE": "16", "PET_NNODES": "2", "PET_NPROC_PER_NODE": "8", "PET_NODE_RANK": "1"}
	for _, c := range []struct {
		env  environment
		want Identity
		warn []string // empty: none
	}{
		{environment{"JOB_COMPLETION_INDEX": "1"}, Identity{}, []string{`JOB_COMPLETION_INDEX="1"`, "set WORLD_SIZE"}},
		{environment{"PMIX_RANK": "1"}, Identity{}, []string{`PMIX_RANK="1"`, "set WORLD_SIZE"}},
		{environment{"OTEL_RESOURCE_ATTRIBUTES": "dl.rank=3"}, Identity{}, []string{`dl.rank="3" in OTEL_RESOURCE_ATTRIBUTES`, "set WORLD_SIZE"}},
		{kubeflow, Identity{true, 1, 2, -1, Torchrun}, []string{"PET_NNODES", "no process would have rank 15", "torchrun"}},
		{kubeflow.with(environment{"RANK": "9", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "8"}), Identity{true, 9, 16, 1, Torchrun}, nil},
		{kubeflow.with(environment{"WORLD_SIZE": "2", "PET_NPROC_PER_NODE": "1"}), Identity{true, 1, 2, -1, Torchrun}, nil},
		{kubeflow.with(environment{"PET_NNODES": "1:4"}), Identity{true, 1, 16, -1, Torchrun}, nil},
		{kubeflow.with(environment{"PET_NODE_RANK": "0"}), Identity{true, 1, 16, -1, Torchrun}, nil},
	} {
		got, warnings, err := Resolve(c.env.lookup)
		if err != nil || got != c.want || (len(c.warn) > 0) != (len(warnings) == 1) {
			t.Errorf("%v: got %+v, %v, %q, want %+v", c.env, got, err, warnings, c.want)
			continue
		}
		for _, want := range c.warn {
			if !strings.Contains(string(warnings[0]), want) {
				t.Errorf("%v: warning %q does not mention %s", c.env, warnings[0], want)
			}
		}
	}
}

func TestResolveRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  environment
		want []string // what the error must mention
	}{
		{environment{"RANK": "3"}, []string{`RANK="3"`, "WORLD_SIZE is not", "neither"}},
		{environment{"WORLD_SIZE": "3"}, []string{`WORLD_SIZE="3"`, "RANK is not"}},
		{environment{"WORLD_SIZE": "x"}, []string{`WORLD_SIZE="x"`}},
		{environment{"RANK": "abc", "WORLD_SIZE": "8"}, []string{`RANK="abc"`, "whole number", "unset"}},
		{environment{"RANK": "-1", "WORLD_SIZE": "8"}, []string{`RANK="-1"`}},
		{environment{"RANK": "1.0", "WORLD_SIZE": "8"}, []string{`RANK="1.0"`}},
		{environment{"RANK": "8", "WORLD_SIZE": "8"}, []string{`RANK="8"`, `WORLD_SIZE="8"`, "world size"}},
		{environment{"RANK": "0", "WORLD_SIZE": "0"}, []string{`WORLD_SIZE="0"`}},
		{environment{"RANK": "99999999999999999999", "WORLD_SIZE": "8"}, []string{"RANK"}},
		{torchrun.with(environment{"LOCAL_RANK": "x"}), []string{`LOCAL_RANK="x"`}},
		{torchrun.with(environment{"LOCAL_RANK": "8"}), []string{`LOCAL_RANK="8"`, `WORLD_SIZE="8"`}},
		{environment{"RANK": "x", "WORLD_SIZE": "8"}.with(srun), []string{`RANK="x"`}},
		{environment{"SLURM_STEP_ID": "0", "SLURM_PROCID": "1"}, []string{`SLURM_PROCID="1"`, "SLURM_STEP_NUM_TASKS"}},
		{environment{"OMPI_COMM_WORLD_SIZE": "4"}, []string{"OMPI_COMM_WORLD_RANK is not"}},
		{environment{"JOB_COMPLETION_INDEX": "4", "WORLD_SIZE": "4"}, []string{`JOB_COMPLETION_INDEX="4"`}},
		{environment{"OTEL_RESOURCE_ATTRIBUTES": "nv.dl.rank=x,nv.dl.world_size=2"}, []string{`nv.dl.rank="x" in OTEL_RESOURCE_ATTRIBUTES`}},
		{environment{"RANK": "x", "PMI_RANK": "y"}, []string{`RANK="x"`, `PMI_RANK="y"`}},
	} {
		got, _, err := Resolve(c.env.lookup)
		if err == nil || got.Found {
			t.Errorf("%v: got %+v, %v, want an error", c.env, got, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q does not mention %s", c.env, err, want)
			}
		}
	}
}

func TestRealEnvironmentIsReadable(t *testing.T) {
	t.Parallel()
	if id, _, err := Resolve(os.LookupEnv); err == nil && id.Found && id.Rank >= id.WorldSize {
		t.Errorf("got %+v", id)
	}
}

// Whatever a launcher leaves behind, a result is inside its world and never
// comes with an error.
func FuzzResolve(f *testing.F) {
	names := []string{}
	for _, s := range sources {
		for _, name := range slices.Concat(s.rank, s.world, s.local) {
			if !strings.HasPrefix(name, attr) {
				names = append(names, name)
			}
		}
	}
	names = append(names, "SLURM_STEP_ID", "SLURM_JOB_ID", "OTEL_RESOURCE_ATTRIBUTES", "GROUP_RANK", "LOCAL_WORLD_SIZE", "SLURM_PTY_PORT", "PET_NNODES")
	f.Add("3\x018\x011")
	f.Add("\x018\x01\x010\x018")
	f.Fuzz(func(t *testing.T, text string) {
		env := environment{}
		for i, value := range strings.Split(text, "\x01") {
			if i < len(names) {
				env[names[i]] = value
			}
		}
		id, _, err := Resolve(env.lookup)
		switch {
		case err != nil && id != Identity{}:
			t.Fatalf("%v: identity %+v beside the error %v", env, id, err)
		case err != nil && !strings.Contains(err.Error(), "lens: "):
			t.Fatalf("%v: error %q", env, err)
		case id.Found && (id.Rank < 0 || id.Rank >= id.WorldSize || id.LocalRank < -1 || id.LocalRank >= id.WorldSize || id.Launcher == ""):
			t.Fatalf("%v: %+v", env, id)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	env := torchrun.with(srun)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Resolve(env.lookup); err != nil {
			b.Fatal(err)
		}
	}
}
