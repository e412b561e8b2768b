// Package semconv holds the attribute names of NeMo Lens, NeMo Gym and lens as
// typed constants, one file for each prefix:
//
//	span.SetAttributes(semconv.DLIterationKey.Int(i), semconv.DLLossKey.Float64(loss))
//
// Each constant says what it means, which type its value has, how stable the
// name is and where it comes from. A constant that is exported stays exported:
// names that newer versions of NeMo Lens retired are kept, because older
// processes of one fleet still send them. The package imports nothing but
// otel/attribute.
//
// # Renamed, removed and retired names
//
// Newer versions of NeMo Lens put the identity of a process under nv.dl. [Renamed]
// holds this table as data:
//
//	NeMo Lens v0.2.0   newer NeMo Lens    type
//	dl.rank            nv.dl.rank         int
//	dl.world_size      nv.dl.world_size   int
//	dl.local_rank      nv.dl.local_rank   int
//
// Both spellings can stand on one resource. The older ones are what NeMo Lens
// v0.2.0 emits and what its dashboards ask for.
//
// Removed in newer versions, where the names of metrics belong to their
// producers: rl.entropy, rl.grad_norm, rl.kl_divergence, rl.learning_rate,
// rl.policy_loss, rl.response_length.mean, rl.reward.mean,
// rl.throughput.tokens_per_sec, rl.value_loss.
//
// Retired in newer versions, which keep the names and never emit them:
// slurm.cluster, slurm.nodelist, slurm.torchelastic.restart_count.
//
// slurm.nnodes and slurm.ntasks are text in v0.2.0 and integers in newer
// versions.
package semconv
