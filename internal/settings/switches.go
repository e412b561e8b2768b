package settings

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/resattr"
)

// ParseExporter reads OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER or
// OTEL_LOGS_EXPORTER: otlp, console or none, in any case. The name is empty when
// nothing is set, and, with a warning, for any other text, lists included.
func ParseExporter(signal Signal, lookup Lookup) (name string, warnings []Warning) {
	v := first(lookup, "OTEL_"+strings.ToUpper(string(signal))+"_EXPORTER")
	switch name = strings.ToLower(v.text); name {
	case "", "otlp", "console", "none":
		return name, nil
	}
	return "", []Warning{v.warn("otlp, console or none", "the exporter that is configured otherwise")}
}

// SDKDisabled reads OTEL_SDK_DISABLED. As specified only true, in any case,
// disables; other text than true and false gives a warning.
func SDKDisabled(lookup Lookup) (bool, []Warning) {
	v := first(lookup, "OTEL_SDK_DISABLED")
	switch strings.ToLower(v.text) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, []Warning{v.warn("true or false", "false")}
}

// ResourceAttributes reads OTEL_RESOURCE_ATTRIBUTES. A bad item costs itself and
// nothing else, and is named in a warning.
func ResourceAttributes(lookup Lookup) ([]attribute.KeyValue, []Warning) {
	text, _ := lookup(resattr.EnvVar)
	attrs, texts := resattr.Parse(unquote(text))
	var warnings []Warning
	for _, t := range texts {
		warnings = append(warnings, Warning("lens: "+t))
	}
	return attrs, warnings
}
