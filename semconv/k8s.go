package semconv

import "go.opentelemetry.io/otel/attribute"

// Attributes of the Kubernetes pod that a process runs in.
const (
	// K8SNamespaceNameKey is "k8s.namespace.name": the namespace of the pod.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	K8SNamespaceNameKey = attribute.Key("k8s.namespace.name")

	// K8SPodNameKey is "k8s.pod.name": the name of the pod.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	K8SPodNameKey = attribute.Key("k8s.pod.name")

	// K8SPodUIDKey is "k8s.pod.uid": the UID of the pod.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	K8SPodUIDKey = attribute.Key("k8s.pod.uid")

	// K8SNodeNameKey is "k8s.node.name": the node of the pod.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	K8SNodeNameKey = attribute.Key("k8s.node.name")

	// K8SContainerNameKey is "k8s.container.name": the container in the pod.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	K8SContainerNameKey = attribute.Key("k8s.container.name")

	// K8SJobNameKey is "k8s.job.name": the Job that the pod belongs to.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions
	K8SJobNameKey = attribute.Key("k8s.job.name")
)
