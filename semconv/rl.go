package semconv

import "go.opentelemetry.io/otel/attribute"

// Reinforcement-learning attributes. Newer NeMo Lens leaves the names of
// metrics to their owners and keeps four.
const (
	// RLAlgorithmKey is "rl.algorithm": the algorithm, for example grpo or ppo.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	RLAlgorithmKey = attribute.Key("rl.algorithm")

	// RLGenerationBackendKey is "rl.generation.backend": the engine that generates
	// the rollouts.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	RLGenerationBackendKey = attribute.Key("rl.generation.backend")

	// RLNumRolloutsKey is "rl.num_rollouts": the number of rollouts of a step.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	RLNumRolloutsKey = attribute.Key("rl.num_rollouts")

	// RLRewardKey is "rl.reward": the reward of a rollout.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	RLRewardKey = attribute.Key("rl.reward")

	// RLRewardMeanKey is "rl.reward.mean": the mean reward of a step.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLRewardMeanKey = attribute.Key("rl.reward.mean")

	// RLKLDivergenceKey is "rl.kl_divergence": the divergence of the policy from
	// the reference policy.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLKLDivergenceKey = attribute.Key("rl.kl_divergence")

	// RLPolicyLossKey is "rl.policy_loss": the loss of the policy.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLPolicyLossKey = attribute.Key("rl.policy_loss")

	// RLValueLossKey is "rl.value_loss": the loss of the value function.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLValueLossKey = attribute.Key("rl.value_loss")

	// RLEntropyKey is "rl.entropy": the entropy of the policy.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLEntropyKey = attribute.Key("rl.entropy")

	// RLResponseLengthMeanKey is "rl.response_length.mean": the mean length of the
	// responses in tokens.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLResponseLengthMeanKey = attribute.Key("rl.response_length.mean")

	// RLGradNormKey is "rl.grad_norm": the norm of the gradients of a policy
	// update.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLGradNormKey = attribute.Key("rl.grad_norm")

	// RLLearningRateKey is "rl.learning_rate": the learning rate of a policy
	// update.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLLearningRateKey = attribute.Key("rl.learning_rate")

	// RLThroughputTokensPerSecKey is "rl.throughput.tokens_per_sec": the
	// throughput in tokens per second.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens v0.2.0, removed in the nightly
	RLThroughputTokensPerSecKey = attribute.Key("rl.throughput.tokens_per_sec")
)
