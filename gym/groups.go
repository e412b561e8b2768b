package gym

import "github.com/nemo-lens/lens"

// The span groups of NeMo Gym.
const (
	Job        lens.SpanGroup = "job"         // a whole run of rollouts, in the driver; shared with other libraries
	Server     lens.SpanGroup = "server"      // requests that a server answers; they adopt the caller's trace
	HTTPClient lens.SpanGroup = "http_client" // requests to other servers; they send the trace along
	Rollout    lens.SpanGroup = "rollout"     // one rollout, in the agent server
	Verify     lens.SpanGroup = "verify"      // verification, in the resources server
	Agent      lens.SpanGroup = "agent"       // responses of the agent server
	ModelCall  lens.SpanGroup = "model_call"  // completions of the model server
	Sandbox    lens.SpanGroup = "sandbox"     // start, commands and stop of a sandbox
	Startup    lens.SpanGroup = "startup"     // start-up of supervisor and servers, once a run
)

// Namespace is under which the groups are registered.
const Namespace = "nemo_gym"

// CrossProcessSpine holds the groups that make one trace of a rollout that
// crosses processes. It is part of every preset: without server or http_client
// each process makes a trace of its own.
var CrossProcessSpine = lens.NewGroupSet(Server, HTTPClient, Rollout)

// SpanGroups is the vocabulary of NeMo Gym. "default" is the spine, the job and
// the start-up: enough for one trace a rollout across agent, model and
// resources servers. "per_rollout" is the spine and what happens inside a
// rollout; without job and startup every rollout is a trace with a root of its
// own.
//
// Importing the package registers it in [lens.DefaultRegistry], where presets
// unite with those of other libraries.
var SpanGroups = lens.MustGroupClass(Namespace,
	[]lens.SpanGroup{Job, Server, HTTPClient, Rollout, Verify, Agent, ModelCall, Sandbox, Startup},
	map[string][]lens.SpanGroup{
		"default":     append(CrossProcessSpine.Groups(), Job, Startup),
		"per_rollout": append(CrossProcessSpine.Groups(), Verify, Agent, ModelCall),
	})

// Replace says nothing about names that another library has as well; the job is
// shared on purpose.
func init() { lens.DefaultRegistry.Replace(SpanGroups) }

// registerSpanGroups makes sure that nobody has dropped or replaced the groups.
func registerSpanGroups() {
	if err := lens.DefaultRegistry.Register(SpanGroups); err != nil {
		lens.DefaultRegistry.Replace(SpanGroups) // somebody has taken the namespace
	}
}

// ResolveSpanGroups returns the groups that spec selects among everything that
// is registered in this process. Entries that name nothing are in a
// [*lens.UnknownGroupError] beside the set of those that do: they are pending,
// and whoever wants a misspelt spec to fail takes the error as one. Resolve
// against [SpanGroups] to know Gym's names only.
func ResolveSpanGroups(spec string) (lens.GroupSet, error) {
	return lens.DefaultRegistry.Resolve(spec)
}
