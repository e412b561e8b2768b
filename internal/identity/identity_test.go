package identity_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/identity"
)

type vectors struct {
	UUID struct {
		Cases []struct {
			Env     map[string]string
			RunID   string  `json:"run_id"`
			JobUUID string  `json:"job_uuid"`
			RunUUID *string `json:"run_uuid"`
		}
	} `json:"job_and_run_uuid_nightly"`
	TraceID struct {
		Cases []struct {
			Env     map[string]string
			RunID   string `json:"run_id"`
			Seed    *string
			TraceID *string `json:"trace_id"`
		}
	} `json:"deterministic_trace_id_nightly"`
}

func load(t testing.TB) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.UUID.Cases) == 0 || len(v.TraceID.Cases) == 0 {
		t.Fatal("no vectors")
	}
	return v
}

func env(m map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func TestUUIDsMatchReference(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).UUID.Cases {
		if got := identity.JobUUID(env(c.Env)); got != c.JobUUID {
			t.Errorf("JobUUID(%v) = %s, want %s", c.Env, got, c.JobUUID)
		}
		got, ok := identity.RunUUID(c.RunID, env(c.Env))
		switch {
		case c.RunUUID == nil && (ok || got != ""):
			t.Errorf("RunUUID(%q, %v) = %s, want none", c.RunID, c.Env, got)
		case c.RunUUID != nil && (!ok || got != *c.RunUUID):
			t.Errorf("RunUUID(%q, %v) = %s, want %s", c.RunID, c.Env, got, *c.RunUUID)
		}
	}
}

func TestRunUUIDFollowsRestarts(t *testing.T) {
	t.Parallel()
	id := func(pairs ...string) string {
		m := map[string]string{"SLURM_JOB_ID": "1"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		s, _ := identity.RunUUID("", env(m))
		return s
	}
	if id() != id("SLURM_RESTART_COUNT", "0") {
		t.Error("no restart count differs from 0")
	}
	if id() == id("SLURM_RESTART_COUNT", "1") {
		t.Error("a restart keeps the run UUID")
	}
	array := []string{"SLURM_ARRAY_JOB_ID", "1", "SLURM_ARRAY_TASK_ID", "2"}
	if id(array...) != id(append(array, "SLURM_RESTART_COUNT", "1")...) {
		t.Error("an array's run UUID follows the SLURM restart count")
	}
	if id(array...) == id(append(array, "TORCHELASTIC_RESTART_COUNT", "1")...) {
		t.Error("an array's run UUID ignores the torchrun restart count")
	}
}

func TestSingleTraceIDMatchesReference(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).TraceID.Cases {
		seed, ok := identity.TraceSeed(c.RunID, env(c.Env))
		if ok != (c.Seed != nil) {
			t.Errorf("TraceSeed(%q, %v) = %q, %t", c.RunID, c.Env, seed, ok)
		}
		if c.Seed == nil {
			continue
		}
		if seed != *c.Seed || identity.TraceID(seed).String() != *c.TraceID {
			t.Errorf("%q, %v: seed %q, trace id %s, want %q, %s", c.RunID, c.Env, seed, identity.TraceID(seed), *c.Seed, *c.TraceID)
		}
	}
	// Restarts of the elements of an array share the array's trace.
	seed, _ := identity.TraceSeed("r", env(map[string]string{"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "5"}))
	if seed != "nocluster_5" {
		t.Errorf("array seed %q, want nocluster_5", seed)
	}
}

func TestFieldC7NoneIsNoRunID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"none": false, "None": false, " ": false, "exp-7": true} {
		if uuid, ok := identity.RunUUID("", env(map[string]string{"TORCHELASTIC_RUN_ID": id})); ok != want {
			t.Errorf("TORCHELASTIC_RUN_ID=%q: run UUID %q", id, uuid)
		}
	}
	if _, ok := identity.RunUUID("run", env(map[string]string{"TORCHELASTIC_RUN_ID": "none"})); !ok {
		t.Error("no run UUID for an explicit id")
	}
}

func TestRunID(t *testing.T) {
	t.Parallel()
	handedDown := "team=x,nemo.run.id=exp%2F1"
	for _, c := range []struct {
		explicit string
		env      map[string]string
		want     string
		source   identity.RunIDSource
	}{
		{"mine", map[string]string{"SLURM_JOB_ID": "7", "OTEL_RESOURCE_ATTRIBUTES": handedDown}, "mine", identity.RunIDExplicit},
		{"", map[string]string{"SLURM_JOB_ID": "7", "OTEL_RESOURCE_ATTRIBUTES": handedDown}, "exp/1", identity.RunIDInherited},
		{"", map[string]string{"SLURM_JOB_ID": "7", "TORCHELASTIC_RUN_ID": "exp"}, "7", identity.RunIDSlurm},
		{"", map[string]string{"TORCHELASTIC_RUN_ID": "exp"}, "exp", identity.RunIDTorchrun},
		{"", map[string]string{"TORCHELASTIC_RUN_ID": "none"}, "", identity.RunIDRandom},
		{"", map[string]string{"TORCHELASTIC_RUN_ID": ` "None" `}, "", identity.RunIDRandom},
		{"", map[string]string{"OTEL_RESOURCE_ATTRIBUTES": `"nemo.run.id=q"`}, "q", identity.RunIDInherited},
		{"", map[string]string{"SLURM_JOB_ID": " 7 "}, " 7 ", identity.RunIDSlurm},
		{"", map[string]string{"SLURM_JOB_ID": " ", "OTEL_RESOURCE_ATTRIBUTES": handedDown}, "exp/1", identity.RunIDInherited},
		{"", map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "nemo.run.id=007,"}, "007", identity.RunIDInherited},
		{"", map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "nemo.run.id=,a=1"}, "", identity.RunIDRandom},
		{"", nil, "", identity.RunIDRandom},
	} {
		got, source := identity.RunID(c.explicit, env(c.env))
		if source != c.source || c.want != "" && got != c.want {
			t.Errorf("RunID(%q, %v) = %q from %s, want %q from %s", c.explicit, c.env, got, source, c.want, c.source)
		}
		if source == identity.RunIDRandom && !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(got) {
			t.Errorf("random run id %q, want 12 lower-case hex digits", got)
		}
	}
	if first, second := identity.NewRunID(), identity.NewRunID(); first == second {
		t.Error("two random run ids are equal")
	}
}

// What the identity is derived with must work where SHA-1 is forbidden.
func TestUUIDUnderFIPSEnforcement(t *testing.T) {
	const marker = "LENS_TEST_FIPS_CHILD"
	if os.Getenv(marker) != "" {
		fmt.Println(identity.JobUUID(env(nil)), identity.NewRunID(), identity.TraceID("run-1"))
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestUUIDUnderFIPSEnforcement$")
	cmd.Env = append(os.Environ(), marker+"=1", "GODEBUG=fips140=only")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "d2badfc7-0e4c-537b-b4ea-8785f79f8679") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestTraceIDIsNeverZero(t *testing.T) {
	t.Parallel()
	_, span := identity.FixedTraceID{}.NewIDs(t.Context())
	id, _ := identity.FixedTraceID{}.NewIDs(t.Context())
	if want := (trace.TraceID{15: 1}); id != want || !span.IsValid() {
		t.Errorf("got %s, %s, want %s and a valid span id", id, span, want)
	}
}
