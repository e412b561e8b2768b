package lens

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func megatron() *GroupClass {
	c, err := BaseGroups.Extend("megatron",
		[]SpanGroup{"microbatch", "communication", "activation_offload", "data_loading", "inference", "layer"},
		map[string][]SpanGroup{
			"default":  {Job, Checkpoint, Evaluate, "inference"},
			"per_step": {Job, Checkpoint, Evaluate, ModelInit, LoadCheckpoint, Step, ForwardBackward, Optimizer, "communication", "data_loading", "inference"},
		})
	if err != nil {
		panic(err)
	}
	return c
}

func TestClassRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace string
		groups    []SpanGroup
		presets   map[string][]SpanGroup
		says      string
	}{
		"blank namespace": {" ", nil, nil, "namespace"},
		"capital":         {"x", []SpanGroup{"Job"}, nil, `"Job"`},
		"empty":           {"x", []SpanGroup{""}, nil, "snake_case"},
		"twice":           {"x", []SpanGroup{"a", "a"}, nil, "twice"},
		"reserved group":  {"x", []SpanGroup{"all"}, nil, "reserved"},
		"reserved preset": {"x", []SpanGroup{"a"}, map[string][]SpanGroup{"all": {"a"}}, "reserved"},
		"both":            {"x", []SpanGroup{"a"}, map[string][]SpanGroup{"a": {"a"}}, "both"},
		"foreign member":  {"x", []SpanGroup{"step"}, map[string][]SpanGroup{"p": {"stpe"}}, `did you mean "step"`},
	} {
		_, err := NewGroupClass(tc.namespace, tc.groups, tc.presets)
		require.ErrorContains(t, err, tc.says, name)
	}
}

func TestUnknownGroupsAreAllNamed(t *testing.T) {
	set, err := BaseGroups.Resolve("job,per_stpe,zzz")
	require.ErrorContains(t, err, `"per_stpe" (did you mean "per_step"?)`)
	require.ErrorContains(t, err, `"zzz"`)
	require.ErrorContains(t, err, "optimizer")
	require.True(t, set.Has(Job), "what was known is lost")
}

func TestRegistryUnites(t *testing.T) {
	var r GroupRegistry
	a := MustGroupClass("a", []SpanGroup{"job", "one"}, map[string][]SpanGroup{"default": {"one"}})
	b := MustGroupClass("b", []SpanGroup{"job", "two"}, map[string][]SpanGroup{"default": {"two"}})
	require.NoError(t, r.Register(a))
	require.NoError(t, r.Register(a))
	require.NoError(t, r.Register(b))
	require.Error(t, r.Register(MustGroupClass("a", nil, nil)))
	set, err := r.Resolve("default")
	require.NoError(t, err)
	require.Equal(t, "one,two", set.String())
	require.NoError(t, r.Unregister("a"))
	require.Equal(t, "job,two", r.Groups().String())
	require.Equal(t, "two", r.Presets()["default"].String())
	require.Equal(t, []string{"b"}, r.Namespaces())
	require.ErrorContains(t, r.Unregister("a"), "not registered")
}

func TestBadVariablesAreReportedTogether(t *testing.T) {
	cfg, err := fromEnviron([]string{"A_ENABLED=maybe", "B_EXPORT_SAMPLE_RATE=1.5", "A_SPAN_GROUPS=step", "A_SPAN_GROUP=x", "A_PORT=tcp://1.2.3.4:5"}, "A", "B", nil)
	require.ErrorContains(t, err, `A_ENABLED="maybe"`)
	require.ErrorContains(t, err, `B_EXPORT_SAMPLE_RATE="1.5"`)
	require.Equal(t, "step", cfg.SpanGroups, "a good setting is lost")
	require.Len(t, cfg.origins.Warnings, 1)
	require.Contains(t, cfg.origins.Warnings[0], `did you mean "A_SPAN_GROUPS"`)
	require.Contains(t, cfg.String(), `span_groups="step" (A_SPAN_GROUPS)`)
}
