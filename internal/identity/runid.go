package identity

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// RunIDSource says where a run id came from.
type RunIDSource string

// The sources of a run id, in the order in which they are consulted.
const (
	RunIDExplicit  RunIDSource = "configuration"
	RunIDInherited RunIDSource = "OTEL_RESOURCE_ATTRIBUTES"
	RunIDSlurm     RunIDSource = "SLURM_JOB_ID"
	RunIDTorchrun  RunIDSource = elasticVar
	RunIDRandom    RunIDSource = "random"
)

const elasticVar = "TORCHELASTIC_RUN_ID"

// RunID chooses the id of this run: explicit if it is not empty (the
// configuration has already read <PREFIX>_RUN_ID into it), else nemo.run.id in
// OTEL_RESOURCE_ATTRIBUTES, which is how an operator and a parent process hand it
// down, else SLURM_JOB_ID, else torchrun's id, else 12 random lower-case hex
// digits. The id is never empty. To give children the same id, put it under
// nemo.run.id into their OTEL_RESOURCE_ATTRIBUTES or under <PREFIX>_RUN_ID into
// their environment.
func RunID(explicit string, lookup envtext.Lookup) (string, RunIDSource) {
	if explicit != "" {
		return explicit, RunIDExplicit
	}
	if text, _ := envtext.First(lookup, resattr.EnvVar); text != "" {
		attrs, _ := resattr.Parse(text)
		for _, kv := range attrs {
			if id := kv.Value.AsString(); kv.Key == semconv.NeMoRunIDKey && strings.TrimSpace(id) != "" {
				return id, RunIDInherited
			}
		}
	}
	if id, _ := lookup("SLURM_JOB_ID"); strings.TrimSpace(id) != "" {
		return id, RunIDSlurm
	}
	if id := elasticRunID(lookup); id != "" {
		return id, RunIDTorchrun
	}
	return NewRunID(), RunIDRandom
}

// elasticRunID is what torchrun was given as --rdzv-id. Its default, "none", is
// that of every job without one, and so names none.
func elasticRunID(lookup envtext.Lookup) string {
	id, _ := envtext.First(lookup, elasticVar)
	if strings.EqualFold(id, "none") {
		return ""
	}
	return id
}

// NewRunID returns 12 random lower-case hex digits.
func NewRunID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// instance is drawn once for each process. A child of os/exec draws its own.
var instance = sync.OnceValue(func() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
})

// InstanceID returns the service.instance.id of this process:
// <run id>-rank<rank>-<8 hex digits>. The digits tell processes of one rank
// apart, a rank and the children that it starts for example, whose counters
// would else be one series. All set-ups of one process have the same.
func InstanceID(runID string, rank int) string {
	return fmt.Sprintf("%s-rank%d-%s", runID, rank, instance())
}
