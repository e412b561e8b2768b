package lens

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// vectors reads one suite of the values that the reference gives.
func vectors(t testing.TB, suite string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/core.json")
	require.NoError(t, err)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &all))
	require.Contains(t, all, suite)
	require.NoError(t, json.Unmarshal(all[suite], into))
}

type specCase struct {
	Spec   string
	Result []string
	Error  bool
}

func checkSpecs(t *testing.T, c *GroupClass, cases []specCase) {
	t.Helper()
	require.NotEmpty(t, cases)
	for _, tc := range cases {
		set, err := c.Resolve(tc.Spec)
		if tc.Error {
			var unknown *UnknownGroupError
			require.ErrorAs(t, err, &unknown, "spec %q", tc.Spec)
			continue
		}
		require.NoError(t, err, "spec %q", tc.Spec)
		require.Equal(t, len(tc.Result), set.Len(), "spec %q", tc.Spec)
		for _, g := range tc.Result {
			require.True(t, set.Has(SpanGroup(g)), "spec %q, group %q", tc.Spec, g)
		}
	}
}

func TestVectorsSpanGroups(t *testing.T) {
	var suite struct{ Cases []specCase }
	vectors(t, "span_groups_v020", &suite)
	checkSpecs(t, BaseGroups, suite.Cases)
}

func TestVectorsMegatronClass(t *testing.T) {
	var suite struct {
		Classes map[string]struct{ Cases []specCase }
	}
	vectors(t, "span_groups_v020_subclasses", &suite)
	checkSpecs(t, megatron(), suite.Classes["Mega"].Cases)
}

func TestVectorsConfig(t *testing.T) {
	var suite struct {
		Cases []struct {
			Env       map[string]string
			Prefix    string
			Fallback  *string        `json:"fallback_prefix"`
			Overrides map[string]any `json:"expect_overrides"`
			Error     bool
			Differs   string `json:"lens_differs"`
		}
	}
	vectors(t, "config_from_env_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	for _, tc := range suite.Cases {
		if tc.Prefix == "" {
			continue // the reference's "_KEY"; an empty prefix is the default one here
		}
		var environ []string
		for k, v := range tc.Env {
			environ = append(environ, k+"="+v)
		}
		slices.Sort(environ)
		fallback := ""
		if tc.Fallback != nil {
			fallback = *tc.Fallback
		}
		cfg, err := fromEnviron(environ, tc.Prefix, fallback, nil)
		if tc.Error {
			require.Error(t, err, "%v", environ)
			continue
		}
		require.NoError(t, err, "%v %s", environ, tc.Differs)
		want := fields(DefaultConfig())
		for k, v := range tc.Overrides {
			want[k] = v
		}
		require.Equal(t, want, fields(cfg), "%v", environ)
	}
}

func fields(c Config) map[string]any {
	return map[string]any{
		"enabled": c.Enabled, "service_name": c.ServiceName, "export_strategy": c.ExportStrategy,
		"export_rank": float64(c.ExportRank), "export_sample_rate": c.ExportSampleRate, "sampler_enabled": c.SamplerEnabled,
		"traces_enabled": c.TracesEnabled, "metrics_enabled": c.MetricsEnabled, "logs_enabled": c.LogsEnabled,
		"span_groups": c.SpanGroups, "exporter": c.Exporter, "run_id": c.RunID, "user": c.User,
		"wandb_entity": c.WandbEntity, "wandb_project": c.WandbProject,
	}
}

func TestVectorsRedact(t *testing.T) {
	var suite struct {
		Cases []struct {
			Key, Value, Expect string
			RedactKeys         []string `json:"redact_keys"`
		}
	}
	vectors(t, "redact_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	for _, tc := range suite.Cases {
		require.Equal(t, tc.Expect, RedactValue(tc.Key, tc.Value, tc.RedactKeys...), "%+v", tc)
	}
}

func FuzzSpec(f *testing.F) {
	var suite struct{ Cases []specCase }
	vectors(f, "span_groups_v020", &suite)
	for _, tc := range suite.Cases {
		f.Add(tc.Spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		set, err := BaseGroups.Resolve(spec)
		for _, g := range set.Groups() {
			if !BaseGroups.Groups().Has(g) {
				t.Fatalf("spec %q selected %q", spec, g)
			}
		}
		if again, err2 := BaseGroups.Resolve(set.String()); err == nil && (err2 != nil || again.String() != set.String()) {
			t.Fatalf("spec %q gives %q, which does not resolve to itself", spec, set)
		}
	})
}

// fromEnviron is FromEnv with an environment of the test's.
func fromEnviron(environ []string, prefix, fallbackPrefix string, groups GroupResolver) (Config, error) {
	return configFrom(envtext.Of(environ), prefix, fallbackPrefix, groups)
}

func FuzzEnviron(f *testing.F) {
	f.Add("EXPORT_SAMPLE_RATE", "0x1p-2")
	f.Add("ENABLED", " Yes ")
	f.Add("QUEUE_SIZE", "99999999999999999999")
	f.Fuzz(func(t *testing.T, key, value string) {
		cfg, err := fromEnviron([]string{"NEMO_LENS_" + key + "=" + value}, "", "", nil)
		if err == nil && cfg.Validate() != nil && key != "EXPORTER" && key != "EXPORT_STRATEGY" && key != "SPAN_GROUPS" {
			t.Fatalf("%s=%q passed FromEnv and not Validate: %v", key, value, cfg.Validate())
		}
	})
}
