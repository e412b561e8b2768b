package gym

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The numbers in the names of the tests of this package are those of the
// reference's test cases.

func TestConfig01Defaults(t *testing.T) {
	t.Parallel()
	c := DefaultTelemetryConfig()
	assert.False(t, c.Enabled)
	assert.Equal(t, "nemo-gym", c.ServiceName)
	assert.Equal(t, "default", c.SpanGroups)
	assert.Equal(t, MemoryProfilingConfig{IntervalSeconds: 1}, c.MemoryProfiling)
	assert.True(t, c.ServiceNamePerServer && c.TracesEnabled && c.MetricsEnabled)
	assert.False(t, c.LogsEnabled)
	assert.Equal(t, "otlp", c.Exporter)
	assert.Empty(t, c.OTLPEndpoint+c.OTLPProtocol+c.OTLPHeaders+c.RunID)
	assert.NoError(t, c.Validate())
}

func TestConfig02NestedMemoryBlock(t *testing.T) {
	t.Parallel()
	c, err := fromYAML("telemetry: {memory_profiling: {enabled: true, interval_seconds: 2.5}}")
	require.NoError(t, err)
	assert.Equal(t, MemoryProfilingConfig{Enabled: true, IntervalSeconds: 2.5}, c.MemoryProfiling)

	for _, bad := range []string{"0", "-1", ".nan", ".inf"} {
		_, err = fromYAML("telemetry: {memory_profiling: {interval_seconds: " + bad + "}}")
		require.ErrorContains(t, err, "memory_profiling.interval_seconds", bad)
	}
	for _, key := range []string{"event_loop_sample_interval_seconds", "cpu_min_resample_interval_s", "memory_min_resample_interval_s", "gpu_sample_interval_s"} {
		_, err = fromYAML("telemetry: {" + key + ": 0}")
		require.ErrorContains(t, err, key)
	}
}

func TestConfig03UnknownKeys(t *testing.T) {
	t.Parallel()
	c, err := fromYAML("telemetry: {tomorrow: 7, memory_profiling: {depth: 3}}")
	require.NoError(t, err)
	assert.Equal(t, 7, c.Extra["tomorrow"])
	assert.Equal(t, map[string]any{"depth": 3}, c.Extra["memory_profiling"])
}

func TestConfig04GlobalConfig(t *testing.T) {
	t.Parallel()
	c, err := TelemetryConfigFromGlobalConfig(map[string]any{
		"policy_model": map[string]any{"port": 1},
		"telemetry":    map[string]any{"enabled": true, "span_groups": "all", "run_id": nil},
	})
	require.NoError(t, err)
	assert.True(t, c.Enabled)
	assert.Equal(t, "all", c.SpanGroups)

	type mapping map[string]any
	c, err = TelemetryConfigFromGlobalConfig(map[string]any{"telemetry": mapping{"enabled": "on"}})
	require.NoError(t, err)
	assert.True(t, c.Enabled)

	for _, global := range []map[string]any{
		nil, {}, {"telemetry": nil}, {"telemetry": []any{1}}, {"telemetry": struct{}{}}, {"telemetry": 3},
		{"telemetry": map[int]any{1: 2}}, {"telemetry": map[string]any(nil)},
	} {
		c, err := TelemetryConfigFromGlobalConfig(global)
		require.NoError(t, err, "%v", global)
		assert.Equal(t, DefaultTelemetryConfig(), c, "%v", global)
	}
}

func TestConfig04InvalidBlock(t *testing.T) {
	t.Parallel()
	c, err := TelemetryConfigFromGlobalConfig(map[string]any{"telemetry": map[string]any{
		"enabled": "maybe", "service_name": 7, "otlp_headers": []any{"hunter2"},
		"export_rank": 1.5, "memory_profiling": "yes", "traces_enabled": 2,
	}})
	require.Error(t, err)
	assert.Equal(t, DefaultTelemetryConfig(), c)
	for _, key := range []string{"telemetry.enabled", "service_name", "otlp_headers", "export_rank", "memory_profiling", "traces_enabled"} {
		assert.ErrorContains(t, err, key)
	}
	assert.NotContains(t, err.Error(), "hunter2")
}

func TestConfig05ReservedKey(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "telemetry", TelemetryKeyName)
	assert.True(t, IsReservedKey("telemetry"))
	assert.False(t, IsReservedKey("policy_model"))
}

func TestConfigRoundTrips(t *testing.T) {
	t.Parallel()
	want := DefaultTelemetryConfig()
	want.Enabled, want.OTLPEndpoint, want.ExportRank, want.CPUMinResampleIntervalS = true, "http://h:4317", 3, 0.5
	want.MemoryProfiling = MemoryProfilingConfig{true, 2.5}
	want.Extra = map[string]any{"tomorrow": "x", "memory_profiling": map[string]any{"depth": "deep"}}

	for _, format := range []struct {
		name string
		out  func(any) ([]byte, error)
		in   func([]byte, any) error
	}{{"yaml", yaml.Marshal, yaml.Unmarshal}, {"json", json.Marshal, json.Unmarshal}} {
		data, err := format.out(want)
		require.NoError(t, err)
		var got TelemetryConfig
		require.NoError(t, format.in(data, &got), "%s", data)
		got.given = nil
		assert.Equal(t, want, got, format.name)
	}
	// Nested in a program's own configuration, too.
	var outer struct {
		Telemetry TelemetryConfig `yaml:"telemetry"`
	}
	require.NoError(t, yaml.Unmarshal([]byte("telemetry: {exporter: console}"), &outer))
	assert.Equal(t, "console", outer.Telemetry.Exporter)
	assert.Equal(t, "nemo-gym", outer.Telemetry.ServiceName)
	require.Error(t, yaml.Unmarshal([]byte("telemetry: [1]"), &outer))
	require.Error(t, json.Unmarshal([]byte("[1]"), &outer.Telemetry))
	require.Error(t, json.Unmarshal([]byte(`{"enabled": "maybe"}`), &outer.Telemetry))
}

// The tags, the table and the defaults are one list.
func TestConfigTagsMatchFields(t *testing.T) {
	t.Parallel()
	var c TelemetryConfig
	inTable := make(map[any]string)
	for _, f := range configFields(&c) {
		inTable[f.value] = f.key
	}
	var walk func(v reflect.Value, prefix string)
	walk = func(v reflect.Value, prefix string) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Name == "Extra" {
				continue
			}
			tag := prefix + f.Tag.Get("yaml")
			assert.Equal(t, tag, prefix+f.Tag.Get("json"))
			if f.Type.Kind() == reflect.Struct {
				walk(v.Field(i), tag+".")
				continue
			}
			assert.Equal(t, tag, inTable[v.Field(i).Addr().Interface()], f.Name)
			delete(inTable, v.Field(i).Addr().Interface())
		}
	}
	walk(reflect.ValueOf(&c).Elem(), "")
	assert.Empty(t, inTable)
}

func TestConfigHidesSecrets(t *testing.T) {
	t.Parallel()
	c := DefaultTelemetryConfig()
	c.OTLPHeaders, c.OTLPEndpoint = "authorization=hunter2", "http://user:hunter2@h:4317/v1?key=hunter2"
	for _, text := range []string{c.String(), fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, c), c.LogValue().String()} {
		assert.NotContains(t, text, "hunter2")
	}
	assert.Contains(t, c.String(), "http://h:4317/v1")
}

func fromYAML(text string) (TelemetryConfig, error) {
	var global map[string]any
	if err := yaml.Unmarshal([]byte(text), &global); err != nil {
		return TelemetryConfig{}, err
	}
	return TelemetryConfigFromGlobalConfig(global)
}

func FuzzTelemetryConfig(f *testing.F) {
	f.Add(`{"enabled": true, "memory_profiling": {"enabled": "on", "interval_seconds": "2.5"}}`)
	f.Add(`{"memory_profiling": null, "memory_profiling.enabled": true, "x": {"y": []}}`)
	f.Add(`{"export_rank": 1e400}`)
	f.Fuzz(func(t *testing.T, text string) {
		var block map[string]any
		if json.Unmarshal([]byte(text), &block) != nil {
			return
		}
		c, err := TelemetryConfigFromGlobalConfig(map[string]any{"telemetry": block})
		if err != nil {
			return
		}
		data, err := json.Marshal(c)
		require.NoError(t, err)
		var again TelemetryConfig
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, c.String(), again.String())
		require.Equal(t, c.Extra, again.Extra)
		require.True(t, c.MemoryProfiling.IntervalSeconds > 0 && !math.IsInf(c.MemoryProfiling.IntervalSeconds, 0))
	})
}

func FuzzEnvironment(f *testing.F) {
	f.Add("NEMO_GYM_OTEL_ENABLED=1\nNEMO_LENS_EXPORTER=console\nNEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS=0.25")
	f.Add("NEMO_LENS_ENABLED=yes\nNEMO_GYM_OTEL_RUN_ID= \nSLURM_JOB_ID=1\n=\nx")
	f.Add("NEMO_GYM_OTEL_ENABLED=0\nNEMO_LENS_ENABLED=1\nNEMO_GYM_OTEL_GPU_SAMPLE_INTERVAL_S=-1")
	f.Fuzz(func(t *testing.T, text string) {
		environ := strings.Split(text, "\n")
		cfg, _ := telemetryConfigFrom(DefaultTelemetryConfig(), lookupIn(environ))
		require.NoError(t, cfg.Validate())
		_, _ = memoryProfilingFrom(cfg.MemoryProfiling, lookupIn(environ))

		first, runID := TelemetryEnv(&cfg, environ)
		require.Equal(t, envEnabled(lookupIn(first)), runID != "")
		second, again := TelemetryEnv(&cfg, first)
		require.Equal(t, runID, again)
		require.Equal(t, first, second)
		before, after := lookupIn(environ), lookupIn(first)
		for _, kv := range environ {
			name, _, _ := strings.Cut(kv, "=")
			if v, ok := before(name); ok && strings.TrimSpace(v) != "" {
				got, _ := after(name)
				require.Equal(t, v, got)
			}
		}
	})
}
