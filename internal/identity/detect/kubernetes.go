package detect

import (
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/semconv"
)

var kubernetesTable = []fromEnv{
	{semconv.K8SNamespaceNameKey, []string{"K8S_NAMESPACE"}},
	{semconv.K8SPodNameKey, []string{"K8S_POD_NAME", "HOSTNAME"}},
	{semconv.K8SPodUIDKey, []string{"K8S_POD_UID"}},
	{semconv.K8SNodeNameKey, []string{"K8S_NODE_NAME"}},
	{semconv.K8SContainerNameKey, []string{"K8S_CONTAINER_NAME"}},
	{semconv.K8SJobNameKey, []string{"K8S_JOB_NAME"}},
}

// kubernetes is what the pod template put into the environment, if the process
// runs in a pod.
func (d *detector) kubernetes() []attribute.KeyValue {
	if d.env("KUBERNETES_SERVICE_HOST") == "" {
		if _, err := os.Stat(filepath.Join(d.Root, "var/run/secrets/kubernetes.io")); err != nil {
			return nil
		}
	}
	return texts(d.Lookup, kubernetesTable)
}
