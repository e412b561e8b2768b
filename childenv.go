package lens

import (
	"context"
	"os"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/resattr"
	"github.com/nemo-lens/lens/semconv"
)

// ChildEnv returns a copy of env, for [os/exec.Cmd.Env], with what makes a
// child process part of this run: the trace of ctx, as [InjectEnv] writes it,
// and the run id, which the child's set-up finds in OTEL_RESOURCE_ATTRIBUTES
// unless it is told another one. The service.instance.id of this process is taken
// out of that variable: a child is an instance of its own.
func (h *TelemetryHandle) ChildEnv(ctx context.Context, env []string) []string {
	env = InjectEnv(ctx, env)
	if id := h.RunID(); id != "" {
		// An attribute without a value is taken out.
		env = resattr.Environ(env, []attribute.KeyValue{semconv.NeMoRunIDKey.String(id), {Key: semconv.ServiceInstanceIDKey}})
	}
	return env
}

// ResourceEnv returns a copy of env in which OTEL_RESOURCE_ATTRIBUTES carries
// attrs beside what it carried before; of two with one key that of attrs
// stays. Attributes that cannot be written, a slice for example, are left out.
func ResourceEnv(env []string, attrs ...attribute.KeyValue) []string {
	return resattr.Environ(env, attrs)
}

// ParseResourceAttributes reads text in the form of OTEL_RESOURCE_ATTRIBUTES:
// "key=value" pairs separated by commas, values percent-encoded. Whole numbers
// of the attributes that are numbers by convention, a rank for example, come
// back as numbers, and everything else as text. What cannot be read is left
// out and described in the warnings.
func ParseResourceAttributes(text string) (attrs []attribute.KeyValue, warnings []string) {
	attrs, warnings = resattr.Parse(text)
	typed, more := resattr.Normalise(attrs)
	return typed, append(warnings, more...)
}

// FormatResourceAttributes writes attributes in that form. Those that cannot be
// written are left out and described in the warnings.
func FormatResourceAttributes(attrs ...attribute.KeyValue) (text string, warnings []string) {
	return resattr.Format(attrs)
}

// ExtendResourceAttributes lays overrides over what text carries, and that over
// defaults, and writes the result in canonical form.
func ExtendResourceAttributes(text string, defaults, overrides []attribute.KeyValue) (extended string, warnings []string) {
	return resattr.Extend(text, defaults, overrides)
}

// PublishResourceAttributes writes exactly attrs into OTEL_RESOURCE_ATTRIBUTES
// of this process, for children that code of somebody else starts. restore puts
// the earlier state back; several publications are restored in reverse order.
// It changes the environment, so it is not safe beside code that reads it; where
// you start the child yourself use [ResourceEnv] or [TelemetryHandle.ChildEnv].
func PublishResourceAttributes(attrs ...attribute.KeyValue) (restore func(), warnings []string, err error) {
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
