package gym

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// The prefixes of the variables, in the form that lens.FromEnv takes.
const (
	envPrefix     = "NEMO_GYM_OTEL"
	envFallback   = "NEMO_LENS"
	envGym        = envPrefix + "_"
	envLens       = envFallback + "_"
	serviceEnv    = "OTEL_SERVICE_NAME"
	runIDKey      = "RUN_ID"
	enabledKey    = "ENABLED"
	metricsKey    = "METRICS_ENABLED"
	perServerKey  = "SERVICE_NAME_PER_SERVER"
	profilingKey  = "MEMORY_PROFILING_ENABLED"
	profilingSecs = "MEMORY_PROFILING_INTERVAL_SECONDS"
)

// configField binds one key of the block to its field and to the variable that
// carries it to the server processes.
type configField struct {
	key      string // in the block; memory_profiling.* for the nested ones
	env      string // after NEMO_GYM_OTEL_; empty when the field travels in no such variable
	standard string // the unprefixed variable that carries it instead
	lens     bool   // NEMO_LENS_<env> is the fallback, so the shadowing rule holds
	optional bool   // null in the block means not set
	lenient  bool   // a malformed variable means the default
	value    any    // *bool, *string, *int or *float64
}

// configFields is the one list of what the block has. Fields that are accepted
// without effect travel in no variable.
func configFields(c *TelemetryConfig) []configField {
	return []configField{
		{key: "enabled", env: enabledKey, lens: true, value: &c.Enabled},
		{key: "service_name", standard: serviceEnv, value: &c.ServiceName},
		{key: "service_name_per_server", env: perServerKey, value: &c.ServiceNamePerServer},
		{key: "span_groups", env: "SPAN_GROUPS", lens: true, value: &c.SpanGroups},
		{key: "traces_enabled", env: "TRACES_ENABLED", lens: true, value: &c.TracesEnabled},
		{key: "metrics_enabled", env: metricsKey, lens: true, value: &c.MetricsEnabled},
		{key: "logs_enabled", env: "LOGS_ENABLED", lens: true, value: &c.LogsEnabled},
		{key: "exporter", env: "EXPORTER", lens: true, value: &c.Exporter},
		{key: "otlp_endpoint", standard: "OTEL_EXPORTER_OTLP_ENDPOINT", optional: true, value: &c.OTLPEndpoint},
		{key: "otlp_protocol", standard: "OTEL_EXPORTER_OTLP_PROTOCOL", optional: true, value: &c.OTLPProtocol},
		{key: "otlp_headers", standard: "OTEL_EXPORTER_OTLP_HEADERS", optional: true, value: &c.OTLPHeaders},
		{key: "run_id", env: runIDKey, lens: true, optional: true, value: &c.RunID},
		{key: "memory_profiling.enabled", env: profilingKey, value: &c.MemoryProfiling.Enabled},
		{key: "memory_profiling.interval_seconds", env: profilingSecs, value: &c.MemoryProfiling.IntervalSeconds},
		{key: "event_loop_sample_interval_seconds", env: "EVENT_LOOP_SAMPLE_INTERVAL_SECONDS", lenient: true, value: &c.EventLoopSampleIntervalSeconds},
		{key: "event_loop_task_count", env: "EVENT_LOOP_TASK_COUNT", value: &c.EventLoopTaskCount},
		{key: "cpu_sampling_enabled", env: "CPU_SAMPLING_ENABLED", value: &c.CPUSamplingEnabled},
		{key: "cpu_min_resample_interval_s", env: "CPU_MIN_RESAMPLE_INTERVAL_S", lenient: true, value: &c.CPUMinResampleIntervalS},
		{key: "memory_sampling_enabled", env: "MEMORY_SAMPLING_ENABLED", value: &c.MemorySamplingEnabled},
		{key: "memory_min_resample_interval_s", env: "MEMORY_MIN_RESAMPLE_INTERVAL_S", lenient: true, value: &c.MemoryMinResampleIntervalS},
		{key: "gpu_sampling_enabled", env: "GPU_SAMPLING_ENABLED", value: &c.GPUSamplingEnabled},
		{key: "gpu_sample_interval_s", env: "GPU_SAMPLE_INTERVAL_S", lenient: true, value: &c.GPUSampleIntervalS},
		{key: "instrument_aiohttp", value: &c.InstrumentAiohttp},
		{key: "export_strategy", value: &c.ExportStrategy},
		{key: "export_rank", value: &c.ExportRank},
	}
}

// text is the form in which the value is written to a variable.
func (f configField) text() string {
	switch v := f.value.(type) {
	case *bool:
		if *v {
			return "1"
		}
		return "0"
	case *string:
		return *v
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	return ""
}

// agrees reports whether a variable asks for what the field holds; booleans are
// compared by meaning.
func (f configField) agrees(variable string) bool {
	if v, ok := f.value.(*bool); ok {
		return truthy(variable) == *v
	}
	return strings.TrimSpace(variable) == strings.TrimSpace(f.text())
}

// shown is the value as a warning prints it. No field with a fallback, which
// are the ones that are warned about, is a secret.
func (f configField) shown() string {
	return fmt.Sprintf("%v", reflect.ValueOf(f.value).Elem().Interface())
}

// set takes a decoded value. Texts are accepted for booleans and numbers,
// because that is what a resolved reference to a variable is.
func (f configField) set(v any) error {
	rv := reflect.ValueOf(v)
	switch p := f.value.(type) {
	case *bool:
		switch {
		case rv.Kind() == reflect.Bool:
			*p = rv.Bool()
			return nil
		case rv.CanInt() && (rv.Int() == 0 || rv.Int() == 1):
			*p = rv.Int() == 1
			return nil
		case rv.CanFloat() && (rv.Float() == 0 || rv.Float() == 1):
			*p = rv.Float() == 1
			return nil
		case rv.Kind() == reflect.String:
			b, err := parseBool(rv.String())
			if err == nil {
				*p = b
			}
			return err
		}
		return fmt.Errorf("a %T: want true or false", v)
	case *string:
		if rv.Kind() != reflect.String {
			return fmt.Errorf("a %T: want a text; put it in quotes", v)
		}
		*p = rv.String()
	case *float64:
		n, err := number(rv)
		if err != nil {
			return fmt.Errorf("%w of seconds above 0", err)
		}
		*p = n
	case *int:
		n, err := number(rv)
		if err != nil || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
			return errors.New("want a whole number")
		}
		*p = int(n)
	}
	return nil
}

func number(rv reflect.Value) (float64, error) {
	switch {
	case rv.CanInt():
		return float64(rv.Int()), nil
	case rv.CanUint():
		return float64(rv.Uint()), nil
	case rv.CanFloat():
		return rv.Float(), nil
	case rv.Kind() == reflect.String:
		return parseNumber(rv.String())
	}
	return 0, fmt.Errorf("a %s: want a number", rv.Type())
}

// parseNumber takes decimal numbers only; ParseFloat also knows hexadecimal
// and underscores.
func parseNumber(text string) (float64, error) {
	text = envtext.Clean(text)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xX_") {
		return 0, fmt.Errorf("%s: want a number", envtext.Quote(text))
	}
	return n, nil
}

func parseBool(text string) (bool, error) {
	b, err := envtext.Bool(envtext.Clean(text))
	if err != nil {
		err = fmt.Errorf("%s: %w", envtext.Quote(text), err)
	}
	return b, err
}

// truthy is the cheap reader of a switch: what is not clearly on is off.
func truthy(text string) bool {
	on, err := parseBool(text)
	return on && err == nil
}
