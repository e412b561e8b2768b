package gym

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
)

func TestGroups23Registration(t *testing.T) {
	assert.Contains(t, lens.DefaultRegistry.Namespaces(), "nemo_gym")
	for _, name := range []string{"job", "server", "http_client", "rollout", "verify", "agent", "model_call", "sandbox", "startup"} {
		set, err := ResolveSpanGroups(name)
		require.NoError(t, err)
		assert.Equal(t, name, set.String())
	}
	assert.Equal(t, 9, SpanGroups.Groups().Len())

	before, err := ResolveSpanGroups("default")
	require.NoError(t, err)
	registerSpanGroups()
	registerSpanGroups()
	after, err := ResolveSpanGroups("default")
	require.NoError(t, err)
	assert.Equal(t, before.String(), after.String())
}

func TestGroups23TakenNamespace(t *testing.T) {
	lens.DefaultRegistry.Replace(lens.MustGroupClass(Namespace, []lens.SpanGroup{"stranger"}, nil))
	registerSpanGroups()
	_, err := ResolveSpanGroups("stranger")
	require.Error(t, err)
	_, err = ResolveSpanGroups("rollout")
	require.NoError(t, err)
}

func TestGroups24Spine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "http_client,rollout,server", CrossProcessSpine.String())
	assert.Len(t, SpanGroups.Presets(), 3)
	for name, preset := range SpanGroups.Presets() {
		for _, g := range CrossProcessSpine.Groups() {
			assert.True(t, preset.Has(g), "%s lacks %s", name, g)
		}
	}
}

func TestGroups25To27Specs(t *testing.T) {
	t.Parallel()
	const all = "agent,http_client,job,model_call,rollout,sandbox,server,startup,verify"
	for spec, want := range map[string]string{
		"default":                 "http_client,job,rollout,server,startup",
		"per_rollout":             "agent,http_client,model_call,rollout,server,verify",
		"all":                     all,
		"sandbox":                 "sandbox",
		"verify,agent":            "agent,verify",
		"default,sandbox":         "http_client,job,rollout,sandbox,server,startup",
		"  DEFAULT , Sandbox ":    "http_client,job,rollout,sandbox,server,startup",
		"":                        "", // case 30
		" , ":                     "",
		"per_rollout,job,startup": "agent,http_client,job,model_call,rollout,server,startup,verify",
	} {
		set, err := SpanGroups.Resolve(spec)
		require.NoError(t, err, spec)
		assert.Equal(t, want, set.String(), spec)
	}
}

// Presets unite with those of other libraries, and they may share groups.
func TestGroups23PresetsUnite(t *testing.T) {
	t.Parallel()
	var r lens.GroupRegistry
	require.NoError(t, r.Register(SpanGroups))
	require.NoError(t, r.Register(lens.MustGroupClass("nemo_rl", []lens.SpanGroup{"job", "rollout", "reward"},
		map[string][]lens.SpanGroup{"default": {"job", "reward"}})))
	set, err := r.Resolve("default")
	require.NoError(t, err)
	assert.Equal(t, "http_client,job,reward,rollout,server,startup", set.String())
	set, err = r.Resolve("all")
	require.NoError(t, err)
	assert.Equal(t, 10, set.Len())
}

func TestGroups29UnknownNames(t *testing.T) {
	t.Parallel()
	var unknown *lens.UnknownGroupError
	set, err := ResolveSpanGroups("rollouts")
	require.ErrorAs(t, err, &unknown)
	assert.Zero(t, set.Len())
	set, err = ResolveSpanGroups("default,rollouts")
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, []string{"rollouts"}, unknown.Unknown)
	assert.True(t, set.Has(Rollout))

	_, err = SpanGroups.Resolve("rollouts")
	for _, name := range []string{"model_call", "per_rollout", "sandbox"} {
		require.ErrorContains(t, err, name)
	}
}

// Without anything to resolve against there is an error and not an empty set.
func TestGroups31NothingRegistered(t *testing.T) {
	t.Parallel()
	_, err := new(lens.GroupRegistry).Resolve("default")
	var unknown *lens.UnknownGroupError
	require.True(t, errors.As(err, &unknown))
	assert.Equal(t, lens.SpanGroup("rollout"), Rollout)
}
