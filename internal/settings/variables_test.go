package settings

import (
	"slices"

	"github.com/nemo-lens/lens/internal/identity/resattr"
)

// allVariables returns the sorted names of every variable that this package reads.
func allVariables() []string {
	names := []string{
		"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
		"OTEL_LOGS_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER",
		"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT",
		"OTEL_PROPAGATORS", resattr.EnvVar, "OTEL_SDK_DISABLED",
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT",
		"OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG",
	}
	for _, prefix := range []string{"OTEL_BSP_", "OTEL_BLRP_"} {
		for _, suffix := range []string{"MAX_QUEUE_SIZE", "MAX_EXPORT_BATCH_SIZE", "SCHEDULE_DELAY", "EXPORT_TIMEOUT"} {
			names = append(names, prefix+suffix)
		}
	}
	for _, suffix := range []string{
		"PROTOCOL", "ENDPOINT", "INSECURE", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY",
		"HEADERS", "COMPRESSION", "TIMEOUT",
	} {
		for _, s := range []Signal{Traces, Metrics, Logs} {
			names = append(names, s.variables(suffix)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
