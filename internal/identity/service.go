package identity

import (
	"strings"

	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// ServiceName returns the name that the operator gave the service, and the
// variable that it stands in: OTEL_SERVICE_NAME, else OTEL_RESOURCE_ATTRIBUTES.
// Both are empty when nobody did.
func ServiceName(lookup envtext.Lookup) (name, variable string) {
	if name, variable = envtext.First(lookup, "OTEL_SERVICE_NAME"); name != "" {
		return strings.ToValidUTF8(name, "\uFFFD"), variable
	}
	text, variable := envtext.First(lookup, resattr.EnvVar)
	attrs, _ := resattr.Parse(text) // whoever builds the resource reports what is wrong with it
	for _, kv := range attrs {
		if name := kv.Value.AsString(); kv.Key == semconv.ServiceNameKey && name != "" {
			return name, variable
		}
	}
	return "", ""
}
