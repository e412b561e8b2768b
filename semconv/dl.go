package semconv

import "go.opentelemetry.io/otel/attribute"

// Deep-learning attributes: where a process stands in its job and what a
// training step did.
const (
	// DLRankKey is "dl.rank": the rank of the process, 0 to world size - 1.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, renamed to nv.dl.rank
	DLRankKey = attribute.Key("dl.rank")

	// DLWorldSizeKey is "dl.world_size": the number of processes of the job.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, renamed to nv.dl.world_size
	DLWorldSizeKey = attribute.Key("dl.world_size")

	// DLLocalRankKey is "dl.local_rank": the index of the process on its node.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, renamed to nv.dl.local_rank
	DLLocalRankKey = attribute.Key("dl.local_rank")

	// DLDataParallelRankKey is "dl.data_parallel.rank": the rank in the data-
	// parallel group.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLDataParallelRankKey = attribute.Key("dl.data_parallel.rank")

	// DLDataParallelSizeKey is "dl.data_parallel.size": the size of the data-
	// parallel group.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLDataParallelSizeKey = attribute.Key("dl.data_parallel.size")

	// DLTensorParallelRankKey is "dl.tensor_parallel.rank": the rank in the
	// tensor-parallel group.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLTensorParallelRankKey = attribute.Key("dl.tensor_parallel.rank")

	// DLTensorParallelSizeKey is "dl.tensor_parallel.size": the size of the
	// tensor-parallel group.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLTensorParallelSizeKey = attribute.Key("dl.tensor_parallel.size")

	// DLPipelineParallelRankKey is "dl.pipeline_parallel.rank": the rank in the
	// pipeline-parallel group, the pipeline stage.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLPipelineParallelRankKey = attribute.Key("dl.pipeline_parallel.rank")

	// DLPipelineParallelSizeKey is "dl.pipeline_parallel.size": the number of
	// pipeline stages.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLPipelineParallelSizeKey = attribute.Key("dl.pipeline_parallel.size")

	// DLIterationKey is "dl.iteration": the number of the training iteration.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLIterationKey = attribute.Key("dl.iteration")

	// DLLossKey is "dl.loss": the training loss of an iteration.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLLossKey = attribute.Key("dl.loss")

	// DLGradNormKey is "dl.grad_norm": the norm of the gradients of an iteration.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLGradNormKey = attribute.Key("dl.grad_norm")

	// DLLearningRateKey is "dl.learning_rate": the learning rate of an iteration.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLLearningRateKey = attribute.Key("dl.learning_rate")

	// DLThroughputTFLOPSKey is "dl.throughput_tflops": the throughput in teraflops
	// per second.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLThroughputTFLOPSKey = attribute.Key("dl.throughput_tflops")

	// DLThroughputTokensPerSecKey is "dl.throughput_tokens_per_sec": the
	// throughput in tokens per second.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLThroughputTokensPerSecKey = attribute.Key("dl.throughput_tokens_per_sec")

	// DLBatchSizeKey is "dl.batch_size": the number of samples of an iteration.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLBatchSizeKey = attribute.Key("dl.batch_size")

	// DLSequenceLengthKey is "dl.sequence_length": the sequence length in tokens.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLSequenceLengthKey = attribute.Key("dl.sequence_length")

	// DLMicrobatchIDKey is "dl.microbatch_id": the index of a microbatch within
	// its iteration.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	DLMicrobatchIDKey = attribute.Key("dl.microbatch_id")
)
