package identity

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/nemo-lens/lens/internal/resattr"
	"github.com/nemo-lens/lens/semconv"
)

// RunIDSource says where a run id came from.
type RunIDSource string

// The sources of a run id, in the order in which they are consulted.
const (
	RunIDExplicit  RunIDSource = "configuration"
	RunIDSlurm     RunIDSource = "SLURM_JOB_ID"
	RunIDInherited RunIDSource = "OTEL_RESOURCE_ATTRIBUTES"
	RunIDRandom    RunIDSource = "random"
)

// RunID chooses the id of this run: explicit if it is not empty (the
// configuration has already read <PREFIX>_RUN_ID into it), else SLURM_JOB_ID,
// else nemo.run.id in OTEL_RESOURCE_ATTRIBUTES, which is how a parent process
// hands it down, else 12 random lower-case hex digits. The id is never empty.
// To give children the same id, put it under nemo.run.id into their
// OTEL_RESOURCE_ATTRIBUTES or under <PREFIX>_RUN_ID into their environment.
func RunID(explicit string, lookup func(string) (string, bool)) (string, RunIDSource) {
	if explicit != "" {
		return explicit, RunIDExplicit
	}
	if id, _ := lookup("SLURM_JOB_ID"); strings.TrimSpace(id) != "" {
		return id, RunIDSlurm
	}
	if text, _ := lookup(resattr.EnvVar); text != "" {
		attrs, _ := resattr.Parse(text)
		for _, kv := range attrs {
			if id := kv.Value.AsString(); kv.Key == semconv.NeMoRunIDKey && strings.TrimSpace(id) != "" {
				return id, RunIDInherited
			}
		}
	}
	return NewRunID(), RunIDRandom
}

// NewRunID returns 12 random lower-case hex digits.
func NewRunID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}
