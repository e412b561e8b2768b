//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/semconv"
)

// resource puts the attributes together; of two with one key the later wins:
// the environment, then lens's own, then the program's, then what was detected.
func (o *options) resource(cfg Config, runID string, inherited, detected []attribute.KeyValue) *resource.Resource {
	// Not resource.Default, which reads the environment once more, and names the
	// service after the program.
	sdk, _ := resource.New(context.Background(), resource.WithTelemetrySDK()) // has no way to fail
	attrs := append(append([]attribute.KeyValue(nil), sdk.Attributes()...), inherited...)
	attrs = append(attrs, attribute.String("service.name", cfg.ServiceName), attribute.String("service.version", Version))
	if cfg.RankAttributes != rankNVDL {
		attrs = append(attrs, semconv.DLRankKey.Int(o.rank), semconv.DLWorldSizeKey.Int(o.worldSize))
	}
	if cfg.RankAttributes == rankNVDL || cfg.RankAttributes == rankBoth {
		attrs = append(attrs, semconv.NVDLRankKey.Int(o.rank), semconv.NVDLWorldSizeKey.Int(o.worldSize))
	}
	for _, kv := range []struct{ key, value string }{
		{"nemo.run.id", runID}, {"service.instance.id", fmt.Sprintf("%s-rank%d", runID, o.rank)},
		{"nemo.user.id", cfg.User}, {"wandb.entity", cfg.WandbEntity}, {"wandb.project", cfg.WandbProject},
		{"deployment.environment", first(os.Getenv("DEPLOYMENT_ENV"), os.Getenv("ENVIRONMENT"))},
	} {
		if kv.value != "" {
			attrs = append(attrs, attribute.String(kv.key, kv.value))
		}
	}
	attrs = append(attrs, o.attrs...)
	attrs = append(attrs, detected...)
	return resource.NewSchemaless(attrs...)
}
