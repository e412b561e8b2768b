package lens

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/resattr"
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
