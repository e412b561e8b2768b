package semconv

import "go.opentelemetry.io/otel/attribute"

// NVIDIA deep-learning attributes of newer NeMo Lens: job, run, role,
// software, topology and training plan.
const (
	// NVDLRankKey is "nv.dl.rank": the rank of the process, 0 to world size - 1.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly), dl.rank before
	NVDLRankKey = attribute.Key("nv.dl.rank")

	// NVDLWorldSizeKey is "nv.dl.world_size": the number of processes of the job.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly), dl.world_size before
	NVDLWorldSizeKey = attribute.Key("nv.dl.world_size")

	// NVDLLocalRankKey is "nv.dl.local_rank": the index of the process on its
	// node.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly), dl.local_rank before
	NVDLLocalRankKey = attribute.Key("nv.dl.local_rank")

	// NVDLJobUUIDKey is "nv.dl.job.uuid": the UUID (version 5) of the job; equal
	// for all elements of a job array and across restarts.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLJobUUIDKey = attribute.Key("nv.dl.job.uuid")

	// NVDLRunUUIDKey is "nv.dl.run.uuid": the UUID (version 5) of one run of the
	// job; a restart gives another one.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLRunUUIDKey = attribute.Key("nv.dl.run.uuid")

	// NVDLRoleKey is "nv.dl.role": what the process does in the job, for example
	// trainer or launcher.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLRoleKey = attribute.Key("nv.dl.role")

	// NVDLProviderNameKey is "nv.dl.provider.name": the provider of the
	// infrastructure that the job runs on.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLProviderNameKey = attribute.Key("nv.dl.provider.name")

	// NVDLLaunchContainerImageKey is "nv.dl.launch.container.image": the container
	// image that the job was launched with.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLLaunchContainerImageKey = attribute.Key("nv.dl.launch.container.image")

	// NVDLSoftwareCUDAKey is "nv.dl.software.cuda": the version of CUDA.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLSoftwareCUDAKey = attribute.Key("nv.dl.software.cuda")

	// NVDLSoftwareNCCLKey is "nv.dl.software.nccl": the version of NCCL.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLSoftwareNCCLKey = attribute.Key("nv.dl.software.nccl")

	// NVDLSoftwareTorchKey is "nv.dl.software.torch": the version of PyTorch.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLSoftwareTorchKey = attribute.Key("nv.dl.software.torch")

	// NVDLSoftwareTransformerEngineKey is "nv.dl.software.transformer_engine": the
	// version of Transformer Engine.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLSoftwareTransformerEngineKey = attribute.Key("nv.dl.software.transformer_engine")

	// NVDLTopologySizeDPKey is "nv.dl.topology.size.dp": the size of the data-
	// parallel groups.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTopologySizeDPKey = attribute.Key("nv.dl.topology.size.dp")

	// NVDLTopologySizePPKey is "nv.dl.topology.size.pp": the size of the pipeline-
	// parallel groups.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTopologySizePPKey = attribute.Key("nv.dl.topology.size.pp")

	// NVDLTopologySizeTPKey is "nv.dl.topology.size.tp": the size of the tensor-
	// parallel groups.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTopologySizeTPKey = attribute.Key("nv.dl.topology.size.tp")

	// NVDLTrainingConfigGlobalBatchSizeKey is
	// "nv.dl.training.config.global_batch_size": the configured number of samples
	// of an iteration over all ranks.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingConfigGlobalBatchSizeKey = attribute.Key("nv.dl.training.config.global_batch_size")

	// NVDLTrainingConfigMicroBatchSizeKey is
	// "nv.dl.training.config.micro_batch_size": the configured number of samples
	// of a microbatch.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingConfigMicroBatchSizeKey = attribute.Key("nv.dl.training.config.micro_batch_size")

	// NVDLTrainingConfigOptimizerKey is "nv.dl.training.config.optimizer": the
	// configured optimizer.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingConfigOptimizerKey = attribute.Key("nv.dl.training.config.optimizer")

	// NVDLTrainingConfigRecomputeGranularityKey is
	// "nv.dl.training.config.recompute_granularity": the configured granularity of
	// activation recomputation.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingConfigRecomputeGranularityKey = attribute.Key("nv.dl.training.config.recompute_granularity")

	// NVDLTrainingConfigSequenceLengthKey is
	// "nv.dl.training.config.sequence_length": the configured sequence length in
	// tokens.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingConfigSequenceLengthKey = attribute.Key("nv.dl.training.config.sequence_length")

	// NVDLTrainingTargetTrainItersKey is "nv.dl.training.target.train_iters": the
	// number of iterations to train for.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingTargetTrainItersKey = attribute.Key("nv.dl.training.target.train_iters")

	// NVDLTrainingTargetTrainSamplesKey is "nv.dl.training.target.train_samples":
	// the number of samples to train for.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingTargetTrainSamplesKey = attribute.Key("nv.dl.training.target.train_samples")

	// NVDLTrainingTargetTrainTokensKey is "nv.dl.training.target.train_tokens":
	// the number of tokens to train for.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: newer NeMo Lens (nightly)
	NVDLTrainingTargetTrainTokensKey = attribute.Key("nv.dl.training.target.train_tokens")
)
