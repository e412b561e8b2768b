package identity

import (
	"crypto/fips140"

	"github.com/google/uuid"
)

// noCluster stands for the cluster where SLURM_CLUSTER_NAME says nothing.
const noCluster = "nocluster"

// JobUUID returns the UUID (version 5, URL namespace) of the SLURM job that the
// environment describes, in its usual lower-case text form. All elements of a
// job array share one, and so do restarts. Without a job the key is "nojob".
func JobUUID(lookup func(string) (string, bool)) string {
	key, _ := jobKey(lookup)
	return nameUUID("nemo.lens.job/" + cluster(lookup) + "/" + key)
}

// RunUUID returns the UUID (version 5, URL namespace) of this run of the job: a
// restart by SLURM or by torchrun gives another one. Outside SLURM the run is
// known by runID, else by TORCHELASTIC_RUN_ID, which is torchrun's "none" in a
// job without an id and then counts as unset; with neither the result is
// ("", false).
func RunUUID(runID string, lookup func(string) (string, bool)) (string, bool) {
	_, isArray := lookup("SLURM_ARRAY_TASK_ID")
	elastic, hasElastic := lookup("TORCHELASTIC_RESTART_COUNT")
	if key, ok := jobKey(lookup); ok {
		name := "nemo.lens.run/" + cluster(lookup) + "/" + key
		if !isArray {
			name += "/sr" + orDefault(lookup, "SLURM_RESTART_COUNT", "0")
		}
		if hasElastic { // present but empty counts, as in the reference
			name += "/te" + elastic
		}
		return nameUUID(name), true
	}
	if runID == "" {
		runID = elasticRunID(lookup)
	}
	if runID == "" {
		return "", false
	}
	if elastic == "" {
		elastic = "0"
	}
	return nameUUID("nemo.lens.run/local/" + runID + "/te" + elastic), true
}

// jobKey names the job within its cluster; ok is false when there is none.
func jobKey(lookup func(string) (string, bool)) (key string, ok bool) {
	name := "SLURM_JOB_ID"
	if _, isArray := lookup("SLURM_ARRAY_TASK_ID"); isArray {
		name = "SLURM_ARRAY_JOB_ID"
	}
	if key, _ = lookup(name); key == "" {
		return "nojob", false
	}
	return key, true
}

func cluster(lookup func(string) (string, bool)) string {
	return orDefault(lookup, "SLURM_CLUSTER_NAME", noCluster)
}

func orDefault(lookup func(string) (string, bool), name, def string) string {
	if v, _ := lookup(name); v != "" {
		return v
	}
	return def
}

// nameUUID hashes name with SHA-1, which GODEBUG=fips140=only forbids as a
// security function. A UUID is a name, so enforcement is lifted for it.
func nameUUID(name string) string {
	var id uuid.UUID
	hash := func() { id = uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)) }
	if fips140.Enforced() {
		fips140.WithoutEnforcement(hash)
	} else {
		hash()
	}
	return id.String()
}
