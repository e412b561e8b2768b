// Package instruments records what training, inference, reinforcement-learning and
// evaluation programs measure, under the names that NeMo's dashboards and the
// OpenTelemetry conventions expect, and lets a program define metrics of its own.
//
// A recorder takes a meter of the OpenTelemetry API and is called with a struct.
// Each field is optional; what is not given is not recorded:
//
//	training := instruments.NewTraining(handle.Meter())
//	training.Record(ctx, instruments.TrainingValues{
//		StepDuration: instruments.Duration(time.Since(start)),
//		Loss:         instruments.Float(loss),
//	})
//
// Durations are time.Durations; each instrument converts them to its unit. Gauges
// take any float64, also NaN: a loss that diverged should be seen.
//
// # Instruments
//
//	name                                  kind       unit         field
//	megatron.training.step_duration_ms    histogram  ms           TrainingValues.StepDuration
//	megatron.training.loss                gauge                   TrainingValues.Loss
//	megatron.training.throughput          gauge      TFLOP/s/GPU  TrainingValues.ThroughputTFLOPS
//	megatron.training.grad_norm           gauge                   TrainingValues.GradNorm
//	megatron.training.learning_rate       gauge                   TrainingValues.LearningRate
//	megatron.training.tokens_per_sec      gauge      {token}/s    TrainingValues.TokensPerSecond
//	megatron.training.skipped_iterations  counter    {iteration}  TrainingValues.SkippedIterations
//	gen_ai.server.request.duration        histogram  s            InferenceValues.RequestDuration
//	gen_ai.server.time_to_first_token     histogram  s            InferenceValues.TimeToFirstToken
//	gen_ai.server.time_per_output_token   histogram  s            InferenceValues.TimePerOutputToken
//	gen_ai.client.operation.duration      histogram  s            InferenceValues.OperationDuration
//	gen_ai.client.token.usage             histogram  {token}      InferenceValues.InputTokens
//	gen_ai.client.token.usage             histogram  {token}      InferenceValues.OutputTokens
//	rl.reward.mean                        gauge                   RLValues.RewardMean
//	rl.kl_divergence                      gauge                   RLValues.KLDivergence
//	rl.policy_loss                        gauge                   RLValues.PolicyLoss
//	rl.value_loss                         gauge                   RLValues.ValueLoss
//	rl.entropy                            gauge                   RLValues.Entropy
//	rl.response_length.mean               gauge                   RLValues.ResponseLengthMean
//	rl.grad_norm                          gauge                   RLValues.GradNorm
//	rl.learning_rate                      gauge                   RLValues.LearningRate
//	rl.throughput.tokens_per_sec          gauge      {token}/s    RLValues.ThroughputTokensPerSec
//	rl.generation.duration_ms             histogram  ms           RLValues.GenerationDuration
//	rl.rollout.duration_ms                histogram  ms           RLValues.RolloutDuration
//	gym.server.request_duration_ms        histogram  ms           GymValues.ServerRequestDuration
//	gym.rollout.duration_ms               histogram  ms           GymValues.RolloutDuration
//	gym.verify.duration_ms                histogram  ms           GymValues.VerifyDuration
//	gym.verify.success_rate               gauge                   GymValues.VerifySuccessRate
//	gym.servers.active                    gauge                   GymValues.ActiveServers
//
// The rl and gym instruments, the request duration and the token usage are those of
// NeMo Lens v0.2.0, descriptions included. The other gen_ai instruments are those
// of the OpenTelemetry GenAI conventions v1.41.0, whose bucket boundaries all five
// have. The training instruments follow what early versions of NeMo Lens recorded,
// of which the kinds, the units and the namespace are known; the rest of each name
// and the boundaries of the step duration, 1 ms to 500 s, are this package's.
// [WithNamespace] changes the namespace. Every other histogram has the SDK's
// boundaries; a view changes them.
//
// The points of inference carry gen_ai.operation.name, gen_ai.provider.name and,
// where they apply, gen_ai.request.model, gen_ai.token.type and error.type. Other
// points have no attributes but those of [WithAttributes].
//
// # Metrics of your own
//
// A [Registry] holds groups of [MetricSpec]. [Register] adds one, and reports what
// is wrong with it; [Record] records values by key, and never fails its caller.
// [Registry.Recorder] binds group, meter and attributes for a hot path.
//
// # Which fact goes where
//
// What never changes in the life of the process belongs on the resource. A category
// that differs from span to span belongs on the span. A number that moves belongs
// here.
//
// # Cost
//
// Instruments are created once for each meter, and forgotten with it. A recorder
// made from a nil meter, or from one that does nothing, costs the writing of the
// struct and a test, one or two nanoseconds and no allocation. With the SDK behind
// it a call allocates nothing, and costs what the SDK's instruments cost with a
// prepared attribute set, plus a few nanoseconds; BenchmarkOff and BenchmarkOn
// report both as ratios. [Registry.Record] builds its attribute set on each call.
//
// Everything in this package is safe for concurrent use. It does not import the
// OpenTelemetry SDK, and is the same under the build tag lens_noop.
package instruments
