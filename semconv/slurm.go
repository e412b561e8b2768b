package semconv

import "go.opentelemetry.io/otel/attribute"

// Attributes of the SLURM job that a process belongs to. NeMo Lens v0.2.0
// emits every value as text; the nightly emits the four counters as integers.
const (
	// SlurmJobIDKey is "slurm.job.id": the id of the job; in newer versions <array
	// job>_<task> for an element of an array.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	SlurmJobIDKey = attribute.Key("slurm.job.id")

	// SlurmJobNameKey is "slurm.job.name": the name of the job.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	SlurmJobNameKey = attribute.Key("slurm.job.name")

	// SlurmNodeListKey is "slurm.nodelist": the nodes of the job in SLURM
	// notation.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, retired by newer NeMo Lens
	SlurmNodeListKey = attribute.Key("slurm.nodelist")

	// SlurmNNodesKey is "slurm.nnodes": the number of nodes of the job.
	//
	// Type: string, int in the nightly
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	SlurmNNodesKey = attribute.Key("slurm.nnodes")

	// SlurmNTasksKey is "slurm.ntasks": the number of tasks of the job.
	//
	// Type: string, int in the nightly
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	SlurmNTasksKey = attribute.Key("slurm.ntasks")

	// SlurmPartitionKey is "slurm.partition": the partition of the job.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	SlurmPartitionKey = attribute.Key("slurm.partition")

	// SlurmClusterNameKey is "slurm.cluster.name": the name of the cluster.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	SlurmClusterNameKey = attribute.Key("slurm.cluster.name")

	// SlurmJobIDRawKey is "slurm.job.id.raw": SLURM_JOB_ID as it is, also for an
	// element of an array.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmJobIDRawKey = attribute.Key("slurm.job.id.raw")

	// SlurmJobUserKey is "slurm.job.user": the user of the job.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmJobUserKey = attribute.Key("slurm.job.user")

	// SlurmJobAccountKey is "slurm.job.account": the account that the job is
	// charged to.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmJobAccountKey = attribute.Key("slurm.job.account")

	// SlurmJobQOSKey is "slurm.job.qos": the quality of service of the job.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmJobQOSKey = attribute.Key("slurm.job.qos")

	// SlurmJobReservationKey is "slurm.job.reservation": the reservation that the
	// job runs in.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmJobReservationKey = attribute.Key("slurm.job.reservation")

	// SlurmArrayJobIDKey is "slurm.array.job_id": the id of the job array, the raw
	// job id without an array.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmArrayJobIDKey = attribute.Key("slurm.array.job_id")

	// SlurmArrayTaskIDKey is "slurm.array.task_id": the index within the job
	// array, 0 without one.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmArrayTaskIDKey = attribute.Key("slurm.array.task_id")

	// SlurmArrayCountKey is "slurm.array.count": the number of elements of the job
	// array, 1 without one.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmArrayCountKey = attribute.Key("slurm.array.count")

	// SlurmArraySLUIDKey is "slurm.array.sluid": the launcher's unique id of the
	// job array.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmArraySLUIDKey = attribute.Key("slurm.array.sluid")

	// SlurmSLUIDKey is "slurm.sluid": the launcher's unique id of the job.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmSLUIDKey = attribute.Key("slurm.sluid")

	// SlurmRestartCountKey is "slurm.restart_count": how often SLURM has restarted
	// the job.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmRestartCountKey = attribute.Key("slurm.restart_count")

	// SlurmSegmentKey is "slurm.segment": the segment size of the job's block
	// placement.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmSegmentKey = attribute.Key("slurm.segment")

	// SlurmTopologyAddrKey is "slurm.topology.addr": the switches and the node
	// that the task runs on.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmTopologyAddrKey = attribute.Key("slurm.topology.addr")

	// SlurmTopologyAddrPatternKey is "slurm.topology.addr_pattern": what the parts
	// of slurm.topology.addr are.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmTopologyAddrPatternKey = attribute.Key("slurm.topology.addr_pattern")

	// SlurmHeadNodeNameKey is "slurm.head_node.name": the node of the batch
	// script.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	SlurmHeadNodeNameKey = attribute.Key("slurm.head_node.name")

	// SlurmClusterKey is "slurm.cluster": an older spelling of slurm.cluster.name.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly), retired by newer NeMo Lens
	SlurmClusterKey = attribute.Key("slurm.cluster")

	// SlurmTorchElasticRestartCountKey is "slurm.torchelastic.restart_count": how
	// often torchrun has restarted the workers.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly), retired by newer NeMo Lens
	SlurmTorchElasticRestartCountKey = attribute.Key("slurm.torchelastic.restart_count")
)
