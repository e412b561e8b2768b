package gym

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// TelemetryKeyName is the top-level key of a run's merged configuration that
// holds the telemetry block. It is reserved: a loader that takes the other
// keys for server definitions leaves it out, see [IsReservedKey].
const TelemetryKeyName = "telemetry"

// IsReservedKey reports whether a top-level key of the merged configuration is
// not the definition of a server.
func IsReservedKey(key string) bool { return key == TelemetryKeyName }

// TelemetryConfig is the telemetry block of a run's configuration. Start from
// [DefaultTelemetryConfig]: in the zero value traces and metrics are off and
// the intervals are invalid. An empty text means "not set".
//
// It is decoded from YAML and JSON with the names in the tags; missing fields
// keep their defaults, null counts as missing, and unknown keys go to Extra.
// References to other parts of the configuration or to variables have to be
// resolved before.
type TelemetryConfig struct {
	Enabled              bool   `yaml:"enabled" json:"enabled"`
	ServiceName          string `yaml:"service_name" json:"service_name"`                       // "nemo-gym"
	ServiceNamePerServer bool   `yaml:"service_name_per_server" json:"service_name_per_server"` // true: "nemo-gym/<server>"
	SpanGroups           string `yaml:"span_groups" json:"span_groups"`                         // "default"
	TracesEnabled        bool   `yaml:"traces_enabled" json:"traces_enabled"`                   // true
	MetricsEnabled       bool   `yaml:"metrics_enabled" json:"metrics_enabled"`                 // true
	LogsEnabled          bool   `yaml:"logs_enabled" json:"logs_enabled"`
	Exporter             string `yaml:"exporter" json:"exporter"` // "otlp"; checked at set-up, not here
	OTLPEndpoint         string `yaml:"otlp_endpoint" json:"otlp_endpoint"`
	OTLPProtocol         string `yaml:"otlp_protocol" json:"otlp_protocol"` // "grpc" or "http/protobuf"
	OTLPHeaders          string `yaml:"otlp_headers" json:"otlp_headers"`   // a secret: never logged
	RunID                string `yaml:"run_id" json:"run_id"`               // empty: one is made

	MemoryProfiling MemoryProfilingConfig `yaml:"memory_profiling" json:"memory_profiling"`

	EventLoopSampleIntervalSeconds float64 `yaml:"event_loop_sample_interval_seconds" json:"event_loop_sample_interval_seconds"` // 1
	EventLoopTaskCount             bool    `yaml:"event_loop_task_count" json:"event_loop_task_count"`

	CPUSamplingEnabled         bool           `yaml:"cpu_sampling_enabled" json:"cpu_sampling_enabled"`
	CPUMinResampleIntervalS    float64        `yaml:"cpu_min_resample_interval_s" json:"cpu_min_resample_interval_s"` // 1
	MemorySamplingEnabled      bool           `yaml:"memory_sampling_enabled" json:"memory_sampling_enabled"`
	MemoryMinResampleIntervalS float64        `yaml:"memory_min_resample_interval_s" json:"memory_min_resample_interval_s"` // 1
	GPUSamplingEnabled         bool           `yaml:"gpu_sampling_enabled" json:"gpu_sampling_enabled"`
	GPUSampleIntervalS         float64        `yaml:"gpu_sample_interval_s" json:"gpu_sample_interval_s"` // 10
	InstrumentAiohttp          bool           `yaml:"instrument_aiohttp" json:"instrument_aiohttp"`       // true; accepted, without effect
	ExportStrategy             string         `yaml:"export_strategy" json:"export_strategy"`             // "all_ranks"; accepted, without effect
	ExportRank                 int            `yaml:"export_rank" json:"export_rank"`                     // -1; accepted, without effect
	Extra                      map[string]any `yaml:",inline" json:"-"`                                   // keys that this version does not know

	// given holds the keys that a decoded block had. It is nil for a
	// configuration made in code.
	given map[string]bool
}

// MemoryProfilingConfig is the nested block memory_profiling: the supervisor's
// sampling of the memory of host and servers.
type MemoryProfilingConfig struct {
	Enabled         bool    `yaml:"enabled" json:"enabled"`
	IntervalSeconds float64 `yaml:"interval_seconds" json:"interval_seconds"` // 1; above 0
}

const (
	defaultServiceName = "nemo-gym"
	memoryProfilingKey = "memory_profiling"
)

// DefaultTelemetryConfig returns the configuration of a run without a
// telemetry block: telemetry is off.
func DefaultTelemetryConfig() TelemetryConfig {
	return TelemetryConfig{
		ServiceName:                    defaultServiceName,
		ServiceNamePerServer:           true,
		SpanGroups:                     "default",
		TracesEnabled:                  true,
		MetricsEnabled:                 true,
		Exporter:                       "otlp",
		MemoryProfiling:                MemoryProfilingConfig{IntervalSeconds: 1},
		EventLoopSampleIntervalSeconds: 1,
		CPUMinResampleIntervalS:        1,
		MemoryMinResampleIntervalS:     1,
		GPUSampleIntervalS:             10,
		InstrumentAiohttp:              true,
		ExportStrategy:                 "all_ranks",
		ExportRank:                     -1,
	}
}

// Validate reports every interval that is not above 0, in one joined error
// that names the fields. Group specs and exporters are checked at set-up.
func (c TelemetryConfig) Validate() error {
	var errs []error
	for _, f := range configFields(&c) {
		if v, ok := f.value.(*float64); ok && !positive(*v) {
			errs = append(errs, fmt.Errorf("gym: %s.%s is %v: want a number of seconds above 0", TelemetryKeyName, f.key, *v))
		}
	}
	return errors.Join(errs...)
}

func positive(seconds float64) bool { return seconds > 0 && !math.IsInf(seconds, 1) }

// TelemetryConfigFromGlobalConfig returns the telemetry block of a merged
// configuration. A nil configuration, one without the block, and a block that
// is null or not a mapping give the defaults, in which telemetry is off, and no
// error. A block that is a mapping with a value of the wrong type or an invalid
// interval is an error that names the fields; the defaults are returned beside
// it.
func TelemetryConfigFromGlobalConfig(global map[string]any) (TelemetryConfig, error) {
	block, ok := asMapping(global[TelemetryKeyName])
	if !ok {
		return DefaultTelemetryConfig(), nil
	}
	c, err := decodeConfig(block)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return DefaultTelemetryConfig(), err
	}
	return c, nil
}

// asMapping takes any map whose keys are texts, as the different decoders make.
func asMapping(v any) (map[string]any, bool) {
	switch m := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		return m, m != nil
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Map || rv.IsNil() {
		return nil, false
	}
	out := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		key := it.Key()
		if key.Kind() == reflect.Interface {
			key = key.Elem()
		}
		if key.Kind() != reflect.String {
			return nil, false
		}
		out[key.String()] = it.Value().Interface()
	}
	return out, true
}

// decodeConfig reads a block over the defaults.
func decodeConfig(block map[string]any) (TelemetryConfig, error) {
	c := DefaultTelemetryConfig()
	c.given = make(map[string]bool)
	flat := maps.Clone(block)
	var errs []error
	for key, v := range block {
		if strings.HasPrefix(key, memoryProfilingKey+".") { // not the nested block
			delete(flat, key)
			c.addExtra("", key, v)
		}
	}
	if nested, ok := asMapping(block[memoryProfilingKey]); ok {
		delete(flat, memoryProfilingKey)
		for key, v := range nested {
			flat[memoryProfilingKey+"."+key] = v
		}
	} else if v := block[memoryProfilingKey]; v != nil {
		delete(flat, memoryProfilingKey)
		errs = append(errs, fmt.Errorf("gym: %s.%s is a %T: want a mapping with enabled and interval_seconds",
			TelemetryKeyName, memoryProfilingKey, v))
	}
	for _, f := range configFields(&c) {
		v, ok := flat[f.key]
		delete(flat, f.key)
		if !ok || v == nil {
			continue
		}
		if err := f.set(v); err != nil {
			errs = append(errs, fmt.Errorf("gym: %s.%s: %w", TelemetryKeyName, f.key, err))
			continue
		}
		c.given[f.key] = true
	}
	for key, v := range flat {
		if inner, ok := strings.CutPrefix(key, memoryProfilingKey+"."); ok {
			c.addExtra(memoryProfilingKey, inner, v)
		} else if key != memoryProfilingKey {
			c.addExtra("", key, v)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return c, errors.Join(errs...)
}

func (c *TelemetryConfig) addExtra(nested, key string, v any) {
	if c.Extra == nil {
		c.Extra = make(map[string]any)
	}
	if nested == "" {
		c.Extra[key] = v
		return
	}
	inner, _ := c.Extra[nested].(map[string]any)
	if inner == nil {
		inner = make(map[string]any)
		c.Extra[nested] = inner
	}
	inner[key] = v
}

// encode is the opposite of decodeConfig.
func (c TelemetryConfig) encode() map[string]any {
	out := maps.Clone(c.Extra)
	if out == nil {
		out = make(map[string]any)
	}
	nested := make(map[string]any)
	if extra, ok := asMapping(c.Extra[memoryProfilingKey]); ok {
		maps.Copy(nested, extra)
	}
	for _, f := range configFields(&c) {
		v := reflect.ValueOf(f.value).Elem().Interface()
		if inner, ok := strings.CutPrefix(f.key, memoryProfilingKey+"."); ok {
			nested[inner] = v
		} else if text, isText := v.(string); isText && text == "" && f.optional {
			out[f.key] = nil
		} else {
			out[f.key] = v
		}
	}
	out[memoryProfilingKey] = nested
	return out
}

// UnmarshalYAML reads a block over the defaults, as
// [TelemetryConfigFromGlobalConfig] does, but does not check the intervals. It
// has the form that every version of the yaml packages calls.
func (c *TelemetryConfig) UnmarshalYAML(unmarshal func(any) error) error {
	var block map[string]any
	if err := unmarshal(&block); err != nil {
		return fmt.Errorf("gym: %s: want a mapping: %w", TelemetryKeyName, err)
	}
	return c.replace(block)
}

// MarshalYAML writes every field and what Extra holds.
func (c TelemetryConfig) MarshalYAML() (any, error) { return c.encode(), nil }

// UnmarshalJSON is like [TelemetryConfig.UnmarshalYAML].
func (c *TelemetryConfig) UnmarshalJSON(data []byte) error {
	var block map[string]any
	if err := json.Unmarshal(data, &block); err != nil {
		return fmt.Errorf("gym: %s: want an object: %w", TelemetryKeyName, err)
	}
	return c.replace(block)
}

// MarshalJSON writes every field and what Extra holds.
func (c TelemetryConfig) MarshalJSON() ([]byte, error) { return json.Marshal(c.encode()) }

func (c *TelemetryConfig) replace(block map[string]any) error {
	decoded, err := decodeConfig(block)
	if err != nil {
		return err
	}
	*c = decoded
	return nil
}

// explicit reports whether the block asked for the field. A configuration made
// in code asks for what differs from the default.
func (c *TelemetryConfig) explicit(f configField) bool {
	if c.given != nil {
		return c.given[f.key]
	}
	def := DefaultTelemetryConfig()
	for _, d := range configFields(&def) {
		if d.key == f.key {
			return d.text() != f.text()
		}
	}
	return false
}

// String shows the fields without the headers and what may be secret in the
// endpoint.
func (c TelemetryConfig) String() string {
	parts := make([]string, 0, 32)
	for _, f := range configFields(&c) {
		text := f.shown()
		switch f.key {
		case "otlp_headers":
			if text != "" {
				text = "[REDACTED]"
			}
		case "otlp_endpoint":
			text = publicURL(text)
		}
		parts = append(parts, f.key+"="+text)
	}
	return strings.Join(parts, " ")
}

// GoString is String, so that no verb of fmt prints the fields raw.
func (c TelemetryConfig) GoString() string { return "gym.TelemetryConfig{" + c.String() + "}" }

// LogValue is String, for log/slog.
func (c TelemetryConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// publicURL leaves out user, query and fragment.
func publicURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "[REDACTED]"
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	return u.String()
}
