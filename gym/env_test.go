package gym

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
)

func config(change func(*TelemetryConfig)) *TelemetryConfig {
	c := DefaultTelemetryConfig()
	c.Enabled = true
	if change != nil {
		change(&c)
	}
	return &c
}

// written returns what a configuration adds to an environment.
func written(t *testing.T, cfg *TelemetryConfig, environ ...string) (map[string]string, string, []warning) {
	t.Helper()
	var warnings []warning
	additions, runID := envAdditions(cfg, lookupIn(environ), func(w warning) { warnings = append(warnings, w) })
	vars := make(map[string]string)
	for _, kv := range additions {
		_, twice := vars[kv.name]
		require.False(t, twice, kv.name)
		vars[kv.name] = kv.value
	}
	return vars, runID, warnings
}

func TestEnv06Values(t *testing.T) {
	t.Parallel()
	vars, _, _ := written(t, config(func(c *TelemetryConfig) { c.SpanGroups, c.Exporter, c.ServiceName = "all", "console", "my-gym" }))
	assert.Equal(t, "1", vars["NEMO_GYM_OTEL_ENABLED"])
	assert.Equal(t, "all", vars["NEMO_GYM_OTEL_SPAN_GROUPS"])
	assert.Equal(t, "console", vars["NEMO_GYM_OTEL_EXPORTER"])
	assert.Equal(t, "my-gym", vars["OTEL_SERVICE_NAME"])
	assert.Equal(t, "1", vars["NEMO_GYM_OTEL_SERVICE_NAME_PER_SERVER"])
	for name := range vars { // accepted, without effect
		assert.NotContains(t, name, "EXPORT_STRATEGY")
		assert.NotContains(t, name, "EXPORT_RANK")
		assert.NotContains(t, name, "AIOHTTP")
	}
	vars, _, _ = written(t, config(func(c *TelemetryConfig) { c.ServiceName = "" }))
	assert.NotContains(t, vars, "OTEL_SERVICE_NAME")
}

func TestEnv07StandardVariables(t *testing.T) {
	t.Parallel()
	cfg := config(func(c *TelemetryConfig) {
		c.OTLPEndpoint, c.OTLPProtocol, c.OTLPHeaders = "http://h:4318", "http/protobuf", "a=b"
	})
	vars, _, _ := written(t, cfg)
	assert.Equal(t, "http://h:4318", vars["OTEL_EXPORTER_OTLP_ENDPOINT"])
	assert.Equal(t, "http/protobuf", vars["OTEL_EXPORTER_OTLP_PROTOCOL"])
	assert.Equal(t, "a=b", vars["OTEL_EXPORTER_OTLP_HEADERS"])

	vars, _, _ = written(t, cfg, "OTEL_EXPORTER_OTLP_ENDPOINT=http://mine", "OTEL_EXPORTER_OTLP_HEADERS= ")
	assert.NotContains(t, vars, "OTEL_EXPORTER_OTLP_ENDPOINT")
	assert.Equal(t, "a=b", vars["OTEL_EXPORTER_OTLP_HEADERS"], "blank counts as not set")

	vars, _, _ = written(t, config(nil))
	for name := range vars {
		assert.False(t, strings.HasPrefix(name, "OTEL_EXPORTER"), name)
	}
}

func TestEnv08Forms(t *testing.T) {
	t.Parallel()
	vars, _, _ := written(t, config(func(c *TelemetryConfig) { c.MemoryProfiling = MemoryProfilingConfig{true, 2.5} }))
	assert.Equal(t, "0", vars["NEMO_GYM_OTEL_LOGS_ENABLED"])
	assert.Equal(t, "1", vars["NEMO_GYM_OTEL_METRICS_ENABLED"])
	assert.Equal(t, "1", vars["NEMO_GYM_OTEL_MEMORY_PROFILING_ENABLED"])
	assert.Equal(t, "2.5", vars["NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS"])
}

func TestEnv09MemoryProfiling(t *testing.T) {
	t.Parallel()
	const on, seconds = "NEMO_GYM_OTEL_MEMORY_PROFILING_ENABLED=", "NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS="
	resolve := func(d MemoryProfilingConfig, environ ...string) (MemoryProfilingConfig, error) {
		return memoryProfilingFrom(d, lookupIn(environ))
	}
	got, err := resolve(MemoryProfilingConfig{false, 1}, on+"1", seconds+"0.25")
	require.NoError(t, err)
	assert.Equal(t, MemoryProfilingConfig{true, 0.25}, got)
	got, err = resolve(MemoryProfilingConfig{true, 1}, on+"0", seconds+"3")
	require.NoError(t, err)
	assert.Equal(t, MemoryProfilingConfig{false, 3}, got)
	got, err = resolve(MemoryProfilingConfig{true, 1}, on+" ", seconds)
	require.NoError(t, err)
	assert.Equal(t, MemoryProfilingConfig{true, 1}, got)
	for _, bad := range []string{"0", "-1", "junk", "0x1", "1_0", "nan", "inf"} {
		_, err = resolve(MemoryProfilingConfig{true, 1}, seconds+bad)
		require.ErrorContains(t, err, "NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS", bad)
	}
	_, err = resolve(MemoryProfilingConfig{})
	require.ErrorContains(t, err, "telemetry.memory_profiling.interval_seconds")
}

func TestEnv10MetricsSwitch(t *testing.T) {
	t.Parallel()
	on := func(environ ...string) bool { return envMetricsEnabled(lookupIn(environ)) }
	assert.True(t, on())
	assert.False(t, on("NEMO_LENS_METRICS_ENABLED=1", "NEMO_GYM_OTEL_METRICS_ENABLED=0"))
	assert.False(t, on("NEMO_LENS_METRICS_ENABLED=0"))
	assert.False(t, on("NEMO_LENS_METRICS_ENABLED=garbage"))
	assert.True(t, on("NEMO_GYM_OTEL_METRICS_ENABLED= ", "NEMO_LENS_METRICS_ENABLED=yes"))
}

func TestEnv11NothingIsOverwritten(t *testing.T) {
	t.Parallel()
	vars, runID, _ := written(t, config(func(c *TelemetryConfig) { c.SpanGroups, c.ServiceName = "all", "other" }),
		"NEMO_GYM_OTEL_ENABLED=0", "NEMO_GYM_OTEL_SPAN_GROUPS=verify", "OTEL_SERVICE_NAME=mine")
	for _, name := range []string{"NEMO_GYM_OTEL_ENABLED", "NEMO_GYM_OTEL_SPAN_GROUPS", "OTEL_SERVICE_NAME"} {
		assert.NotContains(t, vars, name)
	}
	assert.Empty(t, runID)
	assert.Equal(t, "otlp", vars["NEMO_GYM_OTEL_EXPORTER"], "the other variables are written")
	assert.NotContains(t, vars, "NEMO_GYM_OTEL_RUN_ID")
}

func TestEnv12Shadowing(t *testing.T) {
	cfg := config(func(c *TelemetryConfig) { c.Exporter, c.SpanGroups, c.LogsEnabled = "console", "all", true })
	vars, _, _ := written(t, cfg, "NEMO_LENS_EXPORTER=none", "NEMO_LENS_SPAN_GROUPS=verify", "NEMO_LENS_METRICS_ENABLED=0")
	for _, name := range []string{"EXPORTER", "SPAN_GROUPS", "METRICS_ENABLED"} {
		assert.NotContains(t, vars, "NEMO_GYM_OTEL_"+name)
	}
	assert.Equal(t, "1", vars["NEMO_GYM_OTEL_LOGS_ENABLED"])

	clearEnv(t)
	captureLog(t, io.Discard)
	t.Setenv("NEMO_LENS_EXPORTER", "none")
	t.Setenv("NEMO_LENS_SPAN_GROUPS", "verify")
	t.Setenv("NEMO_LENS_METRICS_ENABLED", "0")
	require.NotEmpty(t, ConfigureTelemetryEnv(cfg))
	assert.False(t, IsTelemetryMetricsEnabled())
	resolved, err := lens.FromEnv("NEMO_GYM_OTEL", "NEMO_LENS", lens.DefaultRegistry)
	require.NoError(t, err)
	assert.True(t, resolved.Enabled && resolved.LogsEnabled)
	assert.Equal(t, "none", resolved.Exporter)
	assert.Equal(t, "verify", resolved.SpanGroups)
	assert.False(t, resolved.MetricsEnabled)
	own, err := TelemetryConfigFromEnv(*cfg)
	require.NoError(t, err)
	assert.Equal(t, "none", own.Exporter)
	assert.Equal(t, "verify", own.SpanGroups)
	assert.False(t, own.MetricsEnabled)
}

func TestEnv13ShadowingWarning(t *testing.T) {
	t.Parallel()
	console := config(func(c *TelemetryConfig) { c.Exporter = "console" })
	_, _, warnings := written(t, console, "NEMO_LENS_EXPORTER=otlp")
	assert.Equal(t, []warning{{"exporter", "console", "NEMO_LENS_EXPORTER", "otlp"}}, warnings)
	var text strings.Builder
	warnings[0].log(textLogger(&text))
	for _, want := range []string{"field=exporter", "value=console", "variable=NEMO_LENS_EXPORTER", "variable_value=otlp"} {
		assert.Contains(t, text.String(), want)
	}

	_, _, warnings = written(t, config(nil), "NEMO_LENS_EXPORTER=console", "NEMO_LENS_METRICS_ENABLED=0")
	assert.Empty(t, warnings, "not in the block")
	_, _, warnings = written(t, console, "NEMO_LENS_EXPORTER=console")
	assert.Empty(t, warnings, "equal")
	block, err := fromYAML("telemetry: {enabled: true, metrics_enabled: true, exporter: otlp}")
	require.NoError(t, err)
	_, _, warnings = written(t, &block, "NEMO_LENS_METRICS_ENABLED=true")
	assert.Empty(t, warnings, "booleans are compared by meaning")
	_, _, warnings = written(t, &block, "NEMO_LENS_EXPORTER=console")
	assert.Len(t, warnings, 1, "the block gave the default on purpose")
}

func TestEnv13WarnsOnce(t *testing.T) {
	var text strings.Builder
	captureLog(t, &text)
	clearEnv(t)
	t.Setenv("NEMO_LENS_EXPORTER", "none-"+t.Name())
	warned.Clear()
	cfg := config(func(c *TelemetryConfig) { c.Exporter = "console" })
	ConfigureTelemetryEnv(cfg)
	ConfigureTelemetryEnv(cfg)
	assert.Equal(t, 1, strings.Count(text.String(), "overridden"), text.String())
}

func TestEnv14LensRunID(t *testing.T) {
	t.Parallel()
	vars, runID, _ := written(t, config(nil), "NEMO_LENS_RUN_ID=outer-run")
	assert.Equal(t, "outer-run", runID)
	assert.NotContains(t, vars, "NEMO_GYM_OTEL_RUN_ID")
	// Also where the block has an id of its own.
	vars, runID, warnings := written(t, config(func(c *TelemetryConfig) { c.RunID = "mine" }), "NEMO_LENS_RUN_ID=outer-run")
	assert.Equal(t, "outer-run", runID)
	assert.NotContains(t, vars, "NEMO_GYM_OTEL_RUN_ID")
	assert.Len(t, warnings, 1)
}

func TestEnv15And17NothingToDo(t *testing.T) {
	clearEnv(t)
	before := os.Environ()
	off := DefaultTelemetryConfig()
	for _, cfg := range []*TelemetryConfig{nil, &off} {
		assert.Empty(t, ConfigureTelemetryEnv(cfg))
		assert.Equal(t, before, os.Environ())
		env, runID := TelemetryEnv(cfg, before)
		assert.Empty(t, runID)
		assert.Equal(t, before, env)
	}
	t.Setenv("NEMO_GYM_OTEL_ENABLED", "1")
	before = os.Environ()
	assert.Empty(t, ConfigureTelemetryEnv(nil), "without a configuration nothing is written")
	assert.Equal(t, before, os.Environ())
}

func TestEnv16RunID(t *testing.T) {
	clearEnv(t)
	runID := ConfigureTelemetryEnv(config(nil))
	assert.Regexp(t, regexp.MustCompile(`^[0-9a-f]{12}$`), runID)
	assert.Equal(t, runID, os.Getenv("NEMO_GYM_OTEL_RUN_ID"))
	before := os.Environ()
	assert.Equal(t, runID, ConfigureTelemetryEnv(config(nil)), "a second call is harmless")
	assert.Equal(t, before, os.Environ())

	vars, runID, _ := written(t, config(nil), "NEMO_GYM_OTEL_RUN_ID=explicit", "NEMO_LENS_RUN_ID=outer")
	assert.Equal(t, "explicit", runID)
	assert.NotContains(t, vars, "NEMO_GYM_OTEL_RUN_ID")
	vars, runID, _ = written(t, config(nil), "SLURM_JOB_ID=123456")
	assert.Equal(t, "123456", runID)
	assert.Equal(t, "123456", vars["NEMO_GYM_OTEL_RUN_ID"])
	vars, runID, _ = written(t, config(func(c *TelemetryConfig) { c.RunID = "block" }), "SLURM_JOB_ID=123456")
	assert.Equal(t, "block", runID)
	assert.Equal(t, "block", vars["NEMO_GYM_OTEL_RUN_ID"])
}

func TestEnv18And19Enabled(t *testing.T) {
	clearEnv(t)
	for _, text := range []string{"1", "true", "TRUE", "yes", "on", " on "} {
		t.Setenv("NEMO_GYM_OTEL_ENABLED", text)
		assert.True(t, IsTelemetryEnvEnabled(), text)
	}
	for _, text := range []string{"0", "false", "no", "off", "", "garbage"} {
		t.Setenv("NEMO_GYM_OTEL_ENABLED", text)
		assert.False(t, IsTelemetryEnvEnabled(), text)
	}
	t.Setenv("NEMO_GYM_OTEL_ENABLED", " ")
	t.Setenv("NEMO_LENS_ENABLED", "1")
	assert.True(t, IsTelemetryEnvEnabled())
	t.Setenv("NEMO_GYM_OTEL_ENABLED", "0")
	assert.False(t, IsTelemetryEnvEnabled())
	assert.True(t, IsTelemetryMetricsEnabled())
}

func TestEnv20EnabledByLens(t *testing.T) {
	t.Parallel()
	off := DefaultTelemetryConfig()
	vars, runID, _ := written(t, &off, "NEMO_LENS_ENABLED=1")
	assert.Equal(t, "1", vars["NEMO_GYM_OTEL_ENABLED"])
	assert.NotEmpty(t, runID)
	assert.Equal(t, "default", vars["NEMO_GYM_OTEL_SPAN_GROUPS"])
	assert.Equal(t, "otlp", vars["NEMO_GYM_OTEL_EXPORTER"])
}

func TestEnv21GymOff(t *testing.T) {
	t.Parallel()
	vars, runID, _ := written(t, config(nil), "NEMO_GYM_OTEL_ENABLED=0")
	assert.NotContains(t, vars, "NEMO_GYM_OTEL_ENABLED")
	assert.Empty(t, runID)
}

func TestTelemetryEnvIsPure(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "NEMO_GYM_OTEL_EXPORTER=", "A=b"}
	before, whole := slices.Clone(environ), os.Environ()
	env, runID := TelemetryEnv(config(nil), environ)
	assert.Equal(t, before, environ)
	assert.Equal(t, whole, os.Environ())
	assert.Equal(t, []string{"PATH=/bin", "A=b"}, env[:2])
	assert.Contains(t, env, "NEMO_GYM_OTEL_EXPORTER=otlp")
	assert.NotContains(t, env, "NEMO_GYM_OTEL_EXPORTER=")
	assert.Contains(t, env, "NEMO_GYM_OTEL_RUN_ID="+runID)

	off, _ := TelemetryEnv(nil, environ[:1:2])
	_ = append(off, "X=y")
	assert.Equal(t, before, environ, "an append to the result leaves environ alone")
}

func TestTelemetryConfigFromEnv(t *testing.T) {
	t.Parallel()
	want := config(func(c *TelemetryConfig) {
		c.Exporter, c.RunID, c.MemoryProfiling = "console", "r", MemoryProfilingConfig{true, 0.5}
		c.CPUSamplingEnabled, c.GPUSampleIntervalS, c.EventLoopTaskCount = true, 3, true
		c.OTLPEndpoint, c.OTLPHeaders = "http://h:4317", "a=b"
	})
	env, _ := TelemetryEnv(want, nil)
	got, err := telemetryConfigFrom(DefaultTelemetryConfig(), lookupIn(env))
	require.NoError(t, err)
	assert.Equal(t, *want, got, "what is written is what is read")

	got, err = telemetryConfigFrom(DefaultTelemetryConfig(), lookupIn([]string{
		"NEMO_GYM_OTEL_CPU_MIN_RESAMPLE_INTERVAL_S=junk", "NEMO_GYM_OTEL_GPU_SAMPLE_INTERVAL_S=0",
		"NEMO_GYM_OTEL_TRACES_ENABLED=garbage", "NEMO_LENS_LOGS_ENABLED=1",
		"NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS=0"}))
	require.ErrorContains(t, err, "NEMO_GYM_OTEL_TRACES_ENABLED")
	require.ErrorContains(t, err, "NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS")
	assert.NotContains(t, err.Error(), "RESAMPLE")
	assert.NotContains(t, err.Error(), "GPU")
	assert.True(t, got.LogsEnabled && got.TracesEnabled)
	assert.NoError(t, got.Validate())
}
