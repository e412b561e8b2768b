// Package gym is the telemetry of NeMo Gym: an evaluation run whose supervisor
// starts several servers (agents, models, resources), and in which one rollout
// crosses them all and is one trace.
//
// # Supervisor
//
//	cfg, err := gym.TelemetryConfigFromGlobalConfig(global) // the "telemetry:" block
//	runID := gym.ConfigureTelemetryEnv(&cfg)                // children inherit it; or TelemetryEnv for exec.Cmd.Env
//	gym.InitTelemetry(gym.WithServerName(gym.ServerTypeSupervisor), gym.WithServerType(gym.ServerTypeSupervisor))
//	defer gym.ShutdownTelemetry(5 * time.Second)
//	...                                                     // start the servers, wait until they are ready
//	profiler, err := gym.StartMemoryProfiler(targets...)    // err says why there is none
//	defer profiler.Stop()
//
// # Server
//
//	gym.InitTelemetry(gym.WithServerName("policy_model"), gym.WithServerType(gym.ServerTypeModel))
//	defer gym.ShutdownTelemetry(5 * time.Second)
//	mux.Handle("POST /v1/responses", gym.TracedModelCall(gym.SpanModelResponses, responses))
//	pool, err := gym.NewPool(nil, gym.DefaultPoolSettings())
//	client := &http.Client{Transport: gym.Transport(gym.RetryTransport(pool, gym.Retry{}))}
//	server := &http.Server{Handler: gym.Middleware(gym.CountInFlight(gym.RolloutPath(mux)))}
//	observer, err := gym.StartObserver()
//	defer observer.Stop()
//
// Operators choose what is recorded with span groups, in the block or in
// NEMO_GYM_OTEL_SPAN_GROUPS: "default" is enough for one trace a rollout,
// "per_rollout" adds what happens inside, "all" is everything that is
// registered in the process. Gates are read at every call.
//
// The start-up of a run is a trace of its own: see [SupervisorTimeline] and
// [ServerTimeline]. In a program that sets lens up itself, with its groups
// resolved against [lens.DefaultRegistry], [InitTelemetry] uses that set-up.
//
// # Metrics
//
// These exist while metrics are exported. A span group in brackets has to be on
// as well. They come from the supervisor (sup), from agent, model or resources
// servers (agent, model, res), or from each process that makes the call (all).
//
//	name                                          unit         attributes            from, by
//	gym.rollout.duration_ms (rollout)             ms                                 agent, TracedRollout
//	gym.verify.duration_ms (verify)               ms                                 res, TracedVerify
//	gym.verify.success_rate (verify)              -            gauge                 res, TracedVerify
//	gym.servers.active                            -            gauge                 sup, RecordActiveServers
//	gym.server.startup_duration_ms                ms           server, type          sup, SupervisorTimeline
//	gym.server.startup_stage_duration_ms          ms           and stage, worker     all, ServerTimeline
//	gym.sandbox.active (sandbox)                  {sandbox}    provider              res, SandboxTracker
//	gym.sandbox.startup_duration_ms (sandbox)     ms           provider              res, SandboxTracker
//	gym.sandbox.exec_duration_ms (sandbox)        ms           provider              res, SandboxTracker
//	gym.sandbox.create_retry_total (sandbox)      1            provider              res, SandboxTracker
//	http.server.request.duration (server)         s            semantic conventions  all, Middleware
//	http.server.active_requests (server)          {request}    semantic conventions  all, Middleware
//	gym.http.connection_pool.queue_duration_ms    ms           constraint, outcome,  all, NewPool
//	                                                           destination
//	gym.http.connection_pool.connect_total        {connection} destination           all, NewPool
//	gym.http.timeout_total                        1            internal              all, Transport, Client, RetryTransport
//	gym.http.retry_total *                        1            reason                all, RetryTransport
//	gym.rollout.completed_total (rollout) *       1            outcome, dispatch,    sup, RecordRolloutOutcome
//	                                                           failure
//	gym.model_call.duration_ms (model_call) *     ms           server, dialect,      model, TracedModelCall, BeginModelCall
//	                                                           outcome
//	gym.model_call.ttft_ms (model_call)           ms           server, dialect       model, the same
//	gym.model_call.tokens (model_call)            {token}      and type              model, ModelCallRecorder
//	gym.model_call.finish_total (model_call)      1            and finish reason     model, ModelCallRecorder
//	gym.concurrency.queue_wait_duration_ms        ms           site                  all, NewSemaphore
//	  (concurrency) *
//	gym.resources.operation.queue_duration_ms *   ms           operation, executor   res, ResourcesOperation
//	gym.resources.operation.duration_ms *         ms           and outcome           res, ResourcesOperation
//	gym.resources.operation.queued *              {operation}  operation, executor   res, ResourcesOperation
//	gym.resources.operation.active *              {operation}  operation, executor   res, ResourcesOperation
//	gym.server.memory.usage                       By           server, type, pid,    sup, StartMemoryProfiler
//	                                                           memory type
//	gym.server.memory.sampled_peak                By           the same              sup, StartMemoryProfiler
//	gym.server.processes                          {process}    server, type, pid     sup, StartMemoryProfiler
//	gym.host.memory.usage                         By                                 sup, StartMemoryProfiler
//	gym.host.memory.available                     By                                 sup, StartMemoryProfiler
//	gym.host.memory.total                         By                                 sup, StartMemoryProfiler
//	gym.host.memory.sampled_peak                  By                                 sup, StartMemoryProfiler
//	gym.event_loop.lag_ms *                       ms                                 all, StartObserver
//	gym.event_loop.tasks *                        {task}       event_loop_task_count all, StartObserver
//	gym.scheduler.goroutines *                    {goroutine}  state; the same flag  all, StartObserver
//	go.schedule.duration *                        s                                  all, StartObserver
//	go.goroutine.count                            {goroutine}                        all, StartObserver
//	go.memory.gc.pause.duration *                 s                                  all, StartObserver
//	go.memory.gc.cycles *                         {gc_cycle}                         all, StartObserver
//	process.cpu.time                              s            cpu.mode              all, StartObserver
//	process.memory.usage                          By                                 all, StartObserver
//	process.thread.count                          {thread}                           all, StartObserver
//	process.open_file_descriptor.count            {file_descriptor}                  all, StartObserver
//	gym.server.requests.in_flight *               {request}                          all, CountInFlight
//	gym.process.cpu.percent *                     %            cpu_sampling_enabled  all, at the spans
//	gym.host.memory_used_mib *                    MiB          memory_sampling_...   all, at the spans
//	gym.host.memory_total_mib *                   MiB          memory_sampling_...   all, at the spans
//	gym.process.gpu.utilization_percent *         %            index, uuid           all, StartGPUSampler
//	gym.process.gpu.memory_used_mib *             MiB          index, uuid           all, StartGPUSampler
//	gym.process.gpu.memory_total_mib *            MiB          index, uuid           all, StartGPUSampler
//
// Those with a * are documented only in part for the Python package, or are
// this package's own, so that no parity is claimed for them: at least one of
// their attributes' names or values, bucket bounds, kinds or units was chosen
// here. The packages under gym/internal say which.
//
// The spans at which processor and memory are sampled are those of the
// endpoints, of the sandbox's start and commands, and, at its start, gym.job.
//
// What other versions of the Python package have besides is left out: the
// metrics of token capture and of checkpoints, gym.rollout.failures and
// gym.model.call_duration_ms, which were replaced, and
// gym.server.request_duration_ms, which nobody emits.
//
// # When telemetry is off
//
// Nothing is started, no variable is written, and each wrapper costs one look
// at its gate. Nothing in this package fails a server: faults are logged and
// telemetry is off.
//
// # Differences from the Python package
//
// docs/differences.md of the module lists all of them, with the reasons.
//
// What concerns virtual environments, forks, Uvicorn workers and FastAPI's
// signatures has no counterpart. References such as ${oc.env:X} have to be
// resolved before a block is decoded. A variable that is blank counts as not
// set when the environment is written, too.
//
// These points are documented only in part for the Python package, so their
// form is this package's own and no parity is claimed: the variables of
// event_loop_*, memory_sampling_* and gpu_sampling_* follow the pattern of the
// others; nv.dl.world_size is the companion of nv.dl.rank; gym.sandbox.active
// moves in [SandboxTracker.Start] and [SandboxTracker.Stop]; an endpoint fails
// when it panics or answers with 500 and above, because a handler of net/http
// raises nothing.
//
// # Packages below
//
// Package connpool can be imported by itself: any service that calls others over
// HTTP may bound its requests in total, which net/http cannot, with a meter and
// without the rest of gym. The memory profiler, the process observer, the
// samplers and the operations of resources servers are internal: their names,
// attributes and rules are those of a gym run, and the functions of this package
// are the way to them.
//
// Everything exported is safe for concurrent use; a configuration is a plain
// value.
package gym
