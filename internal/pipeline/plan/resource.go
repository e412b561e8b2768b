package plan

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/detect"
	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/internal/settings"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// distroName is telemetry.distro.name.
const distroName = "nemo-lens"

// resource puts the attributes together; of two with one key the later wins:
// what was found out, then what the operator's variables say, then what the
// configuration and the application say. Rank, world size, run id and the service's
// name have been decided by the same order before, and the process is no matter
// of opinion.
func (p *Plan) resource() *resource.Resource {
	inherited, warnings := settings.ResourceAttributes(p.Env)
	p.warn(warnings)
	detected, warnings := detect.Detect(p.Detection)
	p.warn(warnings)
	// Not resource.Default, which reads the environment once more, and names the
	// service after the executable.
	sdk, _ := resource.New(context.Background(), resource.WithTelemetrySDK()) // has no way to fail
	found := append(sdk.Attributes(),
		semconv.TelemetryDistroNameKey.String(distroName), semconv.TelemetryDistroVersionKey.String(p.Version),
		semconv.ServiceVersionKey.String(cmp.Or(programVersion(), p.Version)),
		semconv.ServiceInstanceIDKey.String(identity.InstanceID(p.RunID, p.Rank)))
	if name, _ := envtext.First(p.Env, "DEPLOYMENT_ENV", "ENVIRONMENT"); name != "" {
		found = append(found, semconv.DeploymentEnvironmentKey.String(name))
	}
	found = append(found, detected...)
	attrs := append(found, p.asFound(inherited, found)...)
	attrs = append(attrs, semconv.ServiceNameKey.String(p.Service), semconv.NeMoRunIDKey.String(p.RunID))
	if p.DLRank {
		attrs = append(attrs, semconv.DLRankKey.Int(p.Rank), semconv.DLWorldSizeKey.Int(p.WorldSize))
	}
	if p.NVDLRank {
		attrs = append(attrs, semconv.NVDLRankKey.Int(p.Rank), semconv.NVDLWorldSizeKey.Int(p.WorldSize))
	}
	for _, kv := range []struct {
		key   attribute.Key
		value string
	}{{semconv.NeMoUserIDKey, p.User}, {semconv.WandbEntityKey, p.WandbEntity}, {semconv.WandbProjectKey, p.WandbProject}} {
		if kv.value != "" {
			attrs = append(attrs, kv.key.String(kv.value))
		}
	}
	return resource.NewSchemaless(append(attrs, p.Attributes...)...)
}

// asFound returns the attributes that the operator's variable gives, with those
// that are numbers by convention or in what was found out as numbers. What
// belongs to one process is left out: children inherit the variable.
func (p *Plan) asFound(inherited, found []attribute.KeyValue) []attribute.KeyValue {
	numbers := make(map[attribute.Key]bool)
	for _, kv := range found {
		numbers[kv.Key] = kv.Value.Type() == attribute.INT64
	}
	typed, warnings := resattr.Normalise(inherited)
	for _, w := range warnings {
		p.Log.Warn(w, w)
	}
	out := typed[:0]
	for _, kv := range typed {
		if kv.Key == semconv.ProcessPIDKey || kv.Key == semconv.ProcessCreationTimeKey {
			continue
		}
		if numbers[kv.Key] && kv.Value.Type() == attribute.STRING {
			if n, ok := resattr.ParseInt(kv.Value.AsString()); ok {
				kv.Value = attribute.Int64Value(n)
			}
		}
		out = append(out, kv)
	}
	return out
}

// programVersion is the version of the main module, or empty where the build
// does not say: in a test, or a build outside a module and its repository.
var programVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
})
