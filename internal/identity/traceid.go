package identity

import (
	"crypto/sha256"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// TraceSeed returns what the single trace id of a job is derived from:
// <cluster>_<SLURM array or job id> inside SLURM, else runID. ok is false when
// there is neither; then trace ids have to stay random and the user should be
// told. Restarts under one job id share the trace.
func TraceSeed(runID string, lookup func(string) (string, bool)) (seed string, ok bool) {
	job := trimmed(lookup, "SLURM_ARRAY_JOB_ID")
	if job == "" {
		job = trimmed(lookup, "SLURM_JOB_ID")
	}
	if job != "" {
		name := trimmed(lookup, "SLURM_CLUSTER_NAME")
		if name == "" {
			name = noCluster
		}
		return name + "_" + job, true
	}
	return runID, runID != ""
}

func trimmed(lookup func(string) (string, bool), name string) string {
	v, _ := lookup(name)
	return strings.TrimSpace(v)
}

// TraceID returns the first 16 bytes of the SHA-256 of seed, and 1 where those
// are all 0. The result is always valid.
func TraceID(seed string) trace.TraceID {
	sum := sha256.Sum256([]byte(seed))
	return nonZero(trace.TraceID(sum[:16]))
}

func nonZero(id trace.TraceID) trace.TraceID {
	if !id.IsValid() {
		id[len(id)-1] = 1
	}
	return id
}
