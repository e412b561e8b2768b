package resattr

import (
	"os"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/resattr"
)

// Parse reads text. Whole numbers of the attributes that are numbers by
// convention, a rank for example, come back as numbers, and everything else as
// text. What cannot be read is left out and described in the warnings.
func Parse(text string) (attrs []attribute.KeyValue, warnings []string) {
	attrs, warnings = resattr.Parse(text)
	typed, more := resattr.Normalise(attrs)
	return typed, append(warnings, more...)
}

// Format writes attributes.
func Format(attrs ...attribute.KeyValue) (text string, warnings []string) {
	return resattr.Format(attrs)
}

// Extend lays overrides over what text carries, and that over defaults, and
// writes the result in canonical form: each key once, in the order of the first
// mention.
func Extend(text string, defaults, overrides []attribute.KeyValue) (extended string, warnings []string) {
	return resattr.Extend(text, defaults, overrides)
}

// Environ returns a copy of env, for [os/exec.Cmd.Env], in which
// OTEL_RESOURCE_ATTRIBUTES carries attrs beside what it carried before; of two
// with one key that of attrs stays. What cannot be written is left out.
func Environ(env []string, attrs ...attribute.KeyValue) []string {
	return resattr.Environ(env, attrs)
}

// Publish writes exactly attrs into OTEL_RESOURCE_ATTRIBUTES of this process, for
// children that code of somebody else starts. restore puts the earlier state
// back; several publications are restored in reverse order. It changes the
// environment, so it is not safe beside code that reads it; for a child that you
// start yourself use [Environ].
func Publish(attrs ...attribute.KeyValue) (restore func(), warnings []string, err error) {
	return resattr.Publish(attrs)
}

// JobUUID returns the UUID (version 5) of the SLURM job that the environment
// describes, equal in all its processes, its array elements and its restarts,
// in Go and Python.
func JobUUID() string { return identity.JobUUID(os.LookupEnv) }

// RunUUID returns the UUID (version 5) of this run of the job: restarts by
// SLURM or torchrun have another one. Outside SLURM it is made from runID, or
// else from torchrun's; ok is false when there is neither.
func RunUUID(runID string) (id string, ok bool) { return identity.RunUUID(runID, os.LookupEnv) }
