//go:build !lens_noop

package lens

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
)

func TestVectorsResourceMerge(t *testing.T) {
	var suite struct {
		Cases []struct {
			Name      string
			Env       map[string]string
			Config    map[string]string
			Rank      int
			WorldSize int            `json:"world_size"`
			Given     map[string]any `json:"resource_attributes"`
			Expect    map[string]any
			Differs   string `json:"lens_differs"`
		}
	}
	vectors(t, "resource_merge_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	// What the launcher of this test has set is none of the case's business.
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		for _, prefix := range []string{"SLURM", "KUBERNETES", "K8S", "OTEL_", "NEMO_", "CUDA", "ENVIRONMENT", "DEPLOYMENT_ENV"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "")
				require.NoError(t, os.Unsetenv(name))
			}
		}
	}
	for _, c := range suite.Cases {
		t.Run(c.Name, func(t *testing.T) {
			for k, v := range c.Env {
				t.Setenv(k, v)
			}
			cfg := jobConfig("all_ranks", 1)
			cfg.RunID = c.Config["run_id"]
			cfg.User, cfg.WandbEntity, cfg.WandbProject = c.Config["user"], c.Config["wandb_entity"], c.Config["wandb_project"]
			cfg.ServiceName = first(c.Config["service_name"], cfg.ServiceName)
			var given []attribute.KeyValue
			for k, v := range c.Given {
				value, ok := attributeValue(v)
				require.True(t, ok)
				given = append(given, attribute.KeyValue{Key: attribute.Key(k), Value: value})
			}
			exported, _ := setUpRank(t, cfg, c.Rank, c.WorldSize, WithResourceAttributes(given...))
			got := resourceOf(exported[0])
			if c.Differs != "" { // an empty DEPLOYMENT_ENV does not hide ENVIRONMENT
				c.Expect["deployment.environment"] = "dev"
			}
			for key, want := range c.Expect {
				value, ok := got[attribute.Key(key)]
				require.True(t, ok, key)
				switch text, _ := want.(string); {
				case key == "host.name":
					host, err := os.Hostname()
					require.NoError(t, err)
					require.Equal(t, host, value.AsString())
				case key == "process.pid":
					require.EqualValues(t, os.Getpid(), value.AsInt64())
				case strings.HasPrefix(text, "<"):
					require.NotEmpty(t, value.String(), key)
				default:
					require.Equal(t, fmt.Sprint(want), value.String(), key)
				}
				delete(got, attribute.Key(key))
			}
			require.Empty(t, got, "more than the reference has")
		})
	}
}
