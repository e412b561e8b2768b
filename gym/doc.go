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
//
// # Server
//
//	gym.InitTelemetry(gym.WithServerName("policy_model"), gym.WithServerType(gym.ServerTypeModel))
//	defer gym.ShutdownTelemetry(5 * time.Second)
//	mux.Handle("POST /v1/responses", gym.TracedModelCall(gym.SpanModelResponses, responses))
//	client := &http.Client{Transport: gym.Transport(nil)}
//	server := &http.Server{Handler: gym.Middleware(gym.RolloutPath(mux))}
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
// # When telemetry is off
//
// Nothing is started, no variable is written, and each wrapper costs one look
// at its gate. Nothing in this package fails a server: faults are logged and
// telemetry is off.
//
// # Differences from the Python package
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
// Everything exported is safe for concurrent use; a configuration is a plain
// value.
package gym
