//go:build !lens_noop

package lens

import (
	"context"
	"os"
	"runtime/debug"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// distroName is telemetry.distro.name.
const distroName = "nemo-lens"

// effectiveServiceName is the name that the application gave in code, else the
// operator's, else the default. A name in code that is the default cannot be
// told from none.
func (c Config) effectiveServiceName(lookup envtext.Lookup) string {
	if c.ServiceName != "" && (c.ServiceName != defaultServiceName || c.sources[serviceNameVar] != "") {
		return c.ServiceName
	}
	name, _ := identity.ServiceName(lookup)
	return first(name, defaultServiceName)
}

// variableOr names the variable that would give a setting, or says what else
// would where the configuration is not read from the environment.
func (c Config) variableOr(key, other string) string {
	if len(c.prefixes) == 0 {
		return other
	}
	return c.prefixes[0] + "_" + key
}

// resource puts the attributes together; of two with one key the later wins:
// what was found out, then what the operator's variables say, then what the
// configuration and the application say. Rank, world size, run id and the service's
// name have been decided by the same order before, and the process is no matter
// of opinion.
func (o *options) resource(cfg Config, runID string, inherited, detected []attribute.KeyValue) *resource.Resource {
	// Not resource.Default, which reads the environment once more, and names the
	// service after the program.
	sdk, _ := resource.New(context.Background(), resource.WithTelemetrySDK()) // has no way to fail
	found := append(sdk.Attributes(),
		semconv.TelemetryDistroNameKey.String(distroName), semconv.TelemetryDistroVersionKey.String(Version),
		semconv.ServiceVersionKey.String(first(programVersion(), Version)),
		semconv.ServiceInstanceIDKey.String(identity.InstanceID(runID, o.rank)))
	if name, _ := envtext.First(os.LookupEnv, "DEPLOYMENT_ENV", "ENVIRONMENT"); name != "" {
		found = append(found, semconv.DeploymentEnvironmentKey.String(name))
	}
	found = append(found, detected...)
	attrs := append(found, asFound(inherited, found)...)
	attrs = append(attrs, semconv.ServiceNameKey.String(cfg.ServiceName), semconv.NeMoRunIDKey.String(runID))
	if cfg.RankAttributes != rankNVDL {
		attrs = append(attrs, semconv.DLRankKey.Int(o.rank), semconv.DLWorldSizeKey.Int(o.worldSize))
	}
	if cfg.RankAttributes == rankNVDL || cfg.RankAttributes == rankBoth {
		attrs = append(attrs, semconv.NVDLRankKey.Int(o.rank), semconv.NVDLWorldSizeKey.Int(o.worldSize))
	}
	for _, kv := range []struct {
		key   attribute.Key
		value string
	}{{semconv.NeMoUserIDKey, cfg.User}, {semconv.WandbEntityKey, cfg.WandbEntity}, {semconv.WandbProjectKey, cfg.WandbProject}} {
		if kv.value != "" {
			attrs = append(attrs, kv.key.String(kv.value))
		}
	}
	return resource.NewSchemaless(append(attrs, o.attrs...)...)
}

// asFound returns the attributes that the operator's variable gives, with those
// that are numbers by convention or in what was found out as numbers. What
// belongs to one process is left out: children inherit the variable.
func asFound(inherited, found []attribute.KeyValue) []attribute.KeyValue {
	numbers := make(map[attribute.Key]bool)
	for _, kv := range found {
		numbers[kv.Key] = kv.Value.Type() == attribute.INT64
	}
	typed, warnings := resattr.Normalise(inherited)
	for _, w := range warnings {
		log().Warn(w, w)
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
