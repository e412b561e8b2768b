package semconv

import "go.opentelemetry.io/otel/attribute"

// Attributes of NeMo Gym. Names that the reference documents in part only say
// so.
const (
	// NeMoGymVersionKey is "nemo.gym.version": the version of the Gym telemetry.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymVersionKey = attribute.Key("nemo.gym.version")

	// NeMoGymServerNameKey is "nemo.gym.server.name": the name of the server.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymServerNameKey = attribute.Key("nemo.gym.server.name")

	// NeMoGymServerTypeKey is "nemo.gym.server.type": the type of the server:
	// resources_servers, responses_api_agents, responses_api_models or supervisor.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymServerTypeKey = attribute.Key("nemo.gym.server.type")

	// NeMoGymServerWorkerKey is "nemo.gym.server.worker": whether the process is a
	// worker of its server.
	//
	// Type: boolean
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymServerWorkerKey = attribute.Key("nemo.gym.server.worker")

	// NeMoGymServiceGroupKey is "nemo.gym.service_group": the service name without
	// the server's suffix.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymServiceGroupKey = attribute.Key("nemo.gym.service_group")

	// NeMoGymRolloutIDKey is "nemo.gym.rollout.id": the id of the rollout that a
	// span works for.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymRolloutIDKey = attribute.Key("nemo.gym.rollout.id")

	// NeMoGymRolloutOutcomeKey is "nemo.gym.rollout.outcome": the outcome of a
	// rollout: success or failure.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymRolloutOutcomeKey = attribute.Key("nemo.gym.rollout.outcome")

	// NeMoGymStartupStageKey is "nemo.gym.startup.stage": the stage of a start-up.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymStartupStageKey = attribute.Key("nemo.gym.startup.stage")

	// NeMoGymSandboxProviderKey is "nemo.gym.sandbox.provider": the provider of
	// the sandbox.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymSandboxProviderKey = attribute.Key("nemo.gym.sandbox.provider")

	// NeMoGymSandboxIDKey is "nemo.gym.sandbox.id": the id of the sandbox.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymSandboxIDKey = attribute.Key("nemo.gym.sandbox.id")

	// NeMoGymSandboxReturnCodeKey is "nemo.gym.sandbox.return_code": the exit
	// status of the command; the command itself is never recorded.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymSandboxReturnCodeKey = attribute.Key("nemo.gym.sandbox.return_code")

	// NeMoGymSandboxErrorTypeKey is "nemo.gym.sandbox.error_type": the type of
	// error that ended the command.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymSandboxErrorTypeKey = attribute.Key("nemo.gym.sandbox.error_type")

	// NeMoGymHTTPDestinationServerNameKey is
	// "nemo.gym.http.destination.server.name": the server that a request goes to,
	// or external.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHTTPDestinationServerNameKey = attribute.Key("nemo.gym.http.destination.server.name")

	// NeMoGymHTTPConnectionPoolQueueConstraintKey is
	// "nemo.gym.http.connection_pool.queue_constraint": what an acquisition waited
	// for: total, per_host or unknown.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHTTPConnectionPoolQueueConstraintKey = attribute.Key("nemo.gym.http.connection_pool.queue_constraint")

	// NeMoGymHTTPConnectionPoolQueueOutcomeKey is
	// "nemo.gym.http.connection_pool.queue_outcome": how the wait ended: ok or
	// abandoned.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHTTPConnectionPoolQueueOutcomeKey = attribute.Key("nemo.gym.http.connection_pool.queue_outcome")

	// NeMoGymHTTPInternalKey is "nemo.gym.http.internal": whether the request
	// stayed between servers of the run.
	//
	// Type: boolean
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHTTPInternalKey = attribute.Key("nemo.gym.http.internal")

	// NeMoGymHTTPRetryReasonKey is "nemo.gym.http.retry_reason": why a request was
	// sent again.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHTTPRetryReasonKey = attribute.Key("nemo.gym.http.retry_reason")

	// NeMoGymModelDialectKey is "nemo.gym.model.dialect": the dialect of an early
	// model-call metric.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymModelDialectKey = attribute.Key("nemo.gym.model.dialect")

	// NeMoGymModelCallDialectKey is "nemo.gym.model_call.dialect": the dialect of
	// a model call.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1, only partly documented upstream
	NeMoGymModelCallDialectKey = attribute.Key("nemo.gym.model_call.dialect")

	// NeMoGymGCGenerationKey is "nemo.gym.gc.generation": the generation of a
	// garbage collection; it has no meaning in Go.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymGCGenerationKey = attribute.Key("nemo.gym.gc.generation")

	// NeMoGymConcurrencySiteKey is "nemo.gym.concurrency.site": the semaphore that
	// was waited for.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymConcurrencySiteKey = attribute.Key("nemo.gym.concurrency.site")

	// NeMoGymCPUPercentKey is "nemo.gym.cpu.percent": the CPU use of the process,
	// 100 for one logical core.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymCPUPercentKey = attribute.Key("nemo.gym.cpu.percent")

	// NeMoGymHostCPUCountKey is "nemo.gym.host.cpu_count": the number of CPUs.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1, an older single count
	NeMoGymHostCPUCountKey = attribute.Key("nemo.gym.host.cpu_count")

	// NeMoGymHostCPUCountLogicalKey is "nemo.gym.host.cpu_count_logical": the
	// number of logical CPUs.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHostCPUCountLogicalKey = attribute.Key("nemo.gym.host.cpu_count_logical")

	// NeMoGymHostCPUCountPhysicalKey is "nemo.gym.host.cpu_count_physical": the
	// number of physical CPUs.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHostCPUCountPhysicalKey = attribute.Key("nemo.gym.host.cpu_count_physical")

	// NeMoGymHostMemoryUsedMiBKey is "nemo.gym.host.memory_used_mib": the used
	// memory of the host in MiB.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHostMemoryUsedMiBKey = attribute.Key("nemo.gym.host.memory_used_mib")

	// NeMoGymHostMemoryTotalMiBKey is "nemo.gym.host.memory_total_mib": the total
	// memory of the host in MiB.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymHostMemoryTotalMiBKey = attribute.Key("nemo.gym.host.memory_total_mib")

	// NeMoGymGPUIndexKey is "nemo.gym.gpu.index": the index of a GPU.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymGPUIndexKey = attribute.Key("nemo.gym.gpu.index")

	// NeMoGymGPUUUIDKey is "nemo.gym.gpu.uuid": the UUID of a GPU.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1
	NeMoGymGPUUUIDKey = attribute.Key("nemo.gym.gpu.uuid")

	// NeMoGymCheckpointParticipantKindKey is
	// "nemo.gym.checkpoint.participant_kind": the kind of participant of a
	// checkpoint.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1, only partly documented upstream
	NeMoGymCheckpointParticipantKindKey = attribute.Key("nemo.gym.checkpoint.participant_kind")

	// NeMoGymCheckpointOperationKey is "nemo.gym.checkpoint.operation": the
	// operation on a checkpoint.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1, only partly documented upstream
	NeMoGymCheckpointOperationKey = attribute.Key("nemo.gym.checkpoint.operation")

	// NeMoGymCheckpointEventKey is "nemo.gym.checkpoint.event": an event of a
	// checkpoint, for example refused.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Gym 0.5.1, only partly documented upstream
	NeMoGymCheckpointEventKey = attribute.Key("nemo.gym.checkpoint.event")
)
