package semconv

import "go.opentelemetry.io/otel/attribute"

// Attributes of the service, the host and the process that NeMo Lens emits;
// most of them without a constant of its own.
const (
	// ServiceNameKey is "service.name": the name of the service.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions (without a constant)
	ServiceNameKey = attribute.Key("service.name")

	// ServiceVersionKey is "service.version": the version of the application; that of
	// the library in NeMo Lens.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions (without a constant)
	ServiceVersionKey = attribute.Key("service.version")

	// ServiceInstanceIDKey is "service.instance.id": the process among those of
	// its service: <run id>-rank<rank>, and in lens digits of the process behind
	// it.
	//
	// Type: string
	//
	// Stability: experimental upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions (without a constant)
	ServiceInstanceIDKey = attribute.Key("service.instance.id")

	// TelemetryDistroNameKey is "telemetry.distro.name": the distribution of the
	// telemetry library, lens.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: lens
	TelemetryDistroNameKey = attribute.Key("telemetry.distro.name")

	// TelemetryDistroVersionKey is "telemetry.distro.version": its version.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: lens
	TelemetryDistroVersionKey = attribute.Key("telemetry.distro.version")

	// DeploymentEnvironmentKey is "deployment.environment": the environment of the
	// deployment, for example prod.
	//
	// Type: string
	//
	// Stability: deprecated upstream (OpenTelemetry) in favour of deployment.environment.name
	//
	// Source: NeMo Lens, all versions (without a constant)
	DeploymentEnvironmentKey = attribute.Key("deployment.environment")

	// HostNameKey is "host.name": the name of the host.
	//
	// Type: string
	//
	// Stability: stable upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions; a constant since the nightly
	HostNameKey = attribute.Key("host.name")

	// HostGPUCountKey is "host.gpu.count": the number of GPUs that the process can
	// use.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions (without a constant)
	HostGPUCountKey = attribute.Key("host.gpu.count")

	// ProcessPIDKey is "process.pid": the id of the process.
	//
	// Type: int
	//
	// Stability: experimental upstream (OpenTelemetry)
	//
	// Source: NeMo Lens, all versions (without a constant)
	ProcessPIDKey = attribute.Key("process.pid")

	// ProcessCreationTimeKey is "process.creation.time": when the process was
	// created, in RFC 3339.
	//
	// Type: string
	//
	// Stability: experimental upstream (OpenTelemetry)
	//
	// Source: lens
	ProcessCreationTimeKey = attribute.Key("process.creation.time")
)
