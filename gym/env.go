package gym

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// ConfigureTelemetryEnv writes cfg into this process's environment, from where
// the server processes that it starts inherit it, and returns the id of the
// run. Call it in the supervisor, before anything is started; a second call
// changes nothing.
//
// It does nothing and returns "" when cfg is nil, or when neither cfg nor the
// environment switches telemetry on. Otherwise:
//
//   - A variable that is already set is never overwritten. One that is blank
//     counts as not set.
//   - NEMO_GYM_OTEL_ENABLED becomes 1. A block that switches telemetry off
//     never writes 0, which would hide NEMO_LENS_ENABLED=1. Where the block
//     switches telemetry on, NEMO_LENS_ENABLED=0 does not switch it off;
//     NEMO_GYM_OTEL_ENABLED=0 does.
//   - A field with a NEMO_LENS_ variable that is set is not written, because the
//     NEMO_GYM_OTEL_ copy would win over what the user has set. One warning
//     says so when the block asked for something else.
//   - Standard OTEL_ variables are written only for fields that have a value,
//     and OTEL_SERVICE_NAME for its default only where
//     OTEL_RESOURCE_ATTRIBUTES names no service.
//   - The id of the run is NEMO_GYM_OTEL_RUN_ID, else NEMO_LENS_RUN_ID, else
//     nemo.run.id in OTEL_RESOURCE_ATTRIBUTES, else SLURM_JOB_ID, else
//     TORCHELASTIC_RUN_ID, else 12 random hex digits.
//
// When the user has exported NEMO_GYM_OTEL_ENABLED=0 telemetry stays off and
// the id is "", though the other variables are written. Intervals that are not
// valid are not written.
func ConfigureTelemetryEnv(cfg *TelemetryConfig) (runID string) {
	configureMu.Lock()
	defer configureMu.Unlock()
	additions, runID := envAdditions(cfg, os.LookupEnv, warnOnce)
	for _, kv := range additions {
		if err := os.Setenv(kv.name, kv.value); err != nil {
			// The value may be a secret, so that it is left out.
			slog.Warn("gym: cannot set a variable for the server processes", "variable", kv.name, "error", err)
		}
	}
	return runID
}

var configureMu sync.Mutex

// TelemetryEnv returns environ and what [ConfigureTelemetryEnv] would add to
// it, for exec.Cmd.Env, and the id of the run. This process's environment is
// neither read nor changed: pass os.Environ() to build upon it. environ itself
// is not changed; of two entries with one name the later counts.
//
// Without a run id in environ each call makes a new one, so that all children
// of a run should get the result of one call, and os.Environ() is to be read
// after ConfigureTelemetryEnv where both are used.
func TelemetryEnv(cfg *TelemetryConfig, environ []string) (env []string, runID string) {
	additions, runID := envAdditions(cfg, lookupIn(environ), warnOnce)
	if len(additions) == 0 {
		return slices.Clip(environ), runID
	}
	env = make([]string, 0, len(environ)+len(additions))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		blankEntry := slices.ContainsFunc(additions, func(kv envVar) bool { return kv.name == name })
		if !blankEntry {
			env = append(env, entry)
		}
	}
	for _, kv := range additions {
		env = append(env, kv.name+"="+kv.value)
	}
	return env, runID
}

type (
	envVar  struct{ name, value string }
	lookup  = envtext.Lookup
	warning struct{ field, value, variable, text string }
)

func lookupIn(environ []string) lookup {
	vars := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			vars[name] = value
		}
	}
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// envAdditions decides what is written, in order.
func envAdditions(cfg *TelemetryConfig, env lookup, warn func(warning)) (additions []envVar, runID string) {
	if cfg == nil || !cfg.Enabled && !envEnabled(env) {
		return nil, ""
	}
	written := make(map[string]string)
	now := func(name string) (string, bool) {
		if v, ok := written[name]; ok {
			return v, true
		}
		return env(name)
	}
	add := func(name, value string) {
		if firstOf(now, name) == "" {
			written[name] = value
			additions = append(additions, envVar{name, value})
		}
	}
	add(envGym+enabledKey, "1")
	on := envEnabled(now)
	for _, f := range configFields(cfg) {
		text := f.text()
		seconds, isSeconds := f.value.(*float64)
		switch {
		case f.env == enabledKey, text == "", isSeconds && !positive(*seconds):
		case f.standard == serviceEnv && !cfg.explicit(f) && operatorNamed(env):
		case f.standard != "":
			add(f.standard, text)
		case f.env == "":
		case f.lens && firstOf(env, envLens+f.env) != "":
			shadow := firstOf(env, envLens+f.env)
			if on && cfg.explicit(f) && !f.agrees(shadow) && firstOf(env, envGym+f.env) == "" {
				warn(warning{f.key, f.shown(), envLens + f.env, shadow})
			}
		default:
			add(envGym+f.env, text)
		}
	}
	if !on {
		return additions, ""
	}
	if runID = firstOf(now, envGym+runIDKey, envLens+runIDKey); runID != "" {
		return additions, runID
	}
	runID, _ = identity.RunID("", now)
	runID = envtext.Clean(runID)
	add(envGym+runIDKey, runID)
	return additions, runID
}

// operatorNamed reports whether the environment names the service, so that the
// default of the block would only hide it.
func operatorNamed(env lookup) bool {
	name, _ := identity.ServiceName(env)
	return name != ""
}

// firstOf returns the first of the variables that is not blank, without the
// blanks and quotes around it.
func firstOf(env lookup, names ...string) string {
	text, _ := envtext.First(env, names...)
	return text
}

// warned holds the warnings that were given, because the environment is
// configured more than once in a run.
var warned sync.Map

func warnOnce(w warning) {
	if _, again := warned.LoadOrStore(w, true); !again {
		w.log(slog.Default())
	}
}

func (w warning) log(l *slog.Logger) {
	l.Warn("gym: a field of the telemetry block is overridden by the environment",
		"field", w.field, "value", w.value, "variable", w.variable, "variable_value", w.text)
}

// IsTelemetryEnvEnabled reports whether the environment switches telemetry on:
// the first of NEMO_GYM_OTEL_ENABLED and NEMO_LENS_ENABLED that is not blank is
// 1, true, yes or on, in any case. Any other text is off. It starts nothing.
func IsTelemetryEnvEnabled() bool { return envEnabled(os.LookupEnv) }

func envEnabled(env lookup) bool {
	return truthy(firstOf(env, envGym+enabledKey, envLens+enabledKey))
}

// IsTelemetryMetricsEnabled reports whether the environment asks for metrics:
// like [IsTelemetryEnvEnabled], of the two METRICS_ENABLED variables, and true
// when neither is set. Whether metrics are exported says
// [IsMetricsExporterActive].
func IsTelemetryMetricsEnabled() bool { return envMetricsEnabled(os.LookupEnv) }

func envMetricsEnabled(env lookup) bool {
	text := firstOf(env, envGym+metricsKey, envLens+metricsKey)
	return text == "" || truthy(text)
}

// MemoryProfilingConfigFromEnv returns defaults with what
// NEMO_GYM_OTEL_MEMORY_PROFILING_ENABLED and
// NEMO_GYM_OTEL_MEMORY_PROFILING_INTERVAL_SECONDS say in place of the fields. An
// interval that is not a number of seconds above 0 is an error, which names
// where it came from.
func MemoryProfilingConfigFromEnv(defaults MemoryProfilingConfig) (MemoryProfilingConfig, error) {
	return memoryProfilingFrom(defaults, os.LookupEnv)
}

func memoryProfilingFrom(c MemoryProfilingConfig, env lookup) (MemoryProfilingConfig, error) {
	if text := firstOf(env, envGym+profilingKey); text != "" {
		c.Enabled = truthy(text)
	}
	source := TelemetryKeyName + ".memory_profiling.interval_seconds"
	if text := firstOf(env, envGym+profilingSecs); text != "" {
		source = envGym + profilingSecs
		seconds, err := parseNumber(text)
		if err != nil {
			return c, fmt.Errorf("gym: %s=%w of seconds above 0", source, err)
		}
		c.IntervalSeconds = seconds
	}
	if !positive(c.IntervalSeconds) {
		return c, fmt.Errorf("gym: %s is %v: want a number of seconds above 0", source, c.IntervalSeconds)
	}
	return c, nil
}

// TelemetryConfigFromEnv returns defaults with what the environment says in
// place of the fields: NEMO_GYM_OTEL_X, else NEMO_LENS_X where the field has
// such a fallback, else the field, and the standard OTEL_ variables for the
// rest. It is how a server process reads what [ConfigureTelemetryEnv] wrote.
//
// A sampling interval that cannot be read keeps its default, except for the one
// of memory profiling. Every other variable that cannot be read is reported in
// one joined error; its field keeps its default.
func TelemetryConfigFromEnv(defaults TelemetryConfig) (TelemetryConfig, error) {
	return telemetryConfigFrom(defaults, os.LookupEnv)
}

func telemetryConfigFrom(c TelemetryConfig, env lookup) (TelemetryConfig, error) {
	var errs []error
	for _, f := range configFields(&c) {
		names := []string{envGym + f.env}
		switch {
		case f.standard != "":
			names[0] = f.standard
		case f.env == "":
			continue
		case f.lens:
			names = append(names, envLens+f.env)
		}
		for _, name := range names {
			text := firstOf(env, name)
			if text == "" {
				continue
			}
			before, isSeconds := f.value.(*float64)
			var old float64
			if isSeconds {
				old = *before
			}
			err := f.set(text)
			if err == nil && isSeconds && !positive(*before) {
				err = errors.New("want a number of seconds above 0")
			}
			if err != nil && isSeconds {
				*before = old
			}
			if err != nil && !f.lenient {
				errs = append(errs, fmt.Errorf("gym: %s: %w", name, err))
			}
			break
		}
	}
	return c, errors.Join(errs...)
}
