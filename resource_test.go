//go:build !lens_noop

package lens

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens/internal/record/values"
	"github.com/nemo-lens/lens/semconv"
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
			Lens      map[string]any `json:"lens_expect"` // where lens differs
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
			cfg.ServiceName = cmp.Or(c.Config["service_name"], cfg.ServiceName)
			var given []attribute.KeyValue
			for k, v := range c.Given {
				value, ok := values.Of(v)
				require.True(t, ok)
				given = append(given, attribute.KeyValue{Key: attribute.Key(k), Value: value})
			}
			exported, _ := setUpRank(t, cfg, c.Rank, c.WorldSize, WithResourceAttributes(given...))
			got := resourceOf(exported[0])
			maps.Copy(c.Expect, c.Lens)
			c.Expect["telemetry.distro.name"], c.Expect["telemetry.distro.version"] = "nemo-lens", Version
			for key, want := range c.Expect {
				value, ok := got[attribute.Key(key)]
				require.True(t, ok, key)
				switch text, _ := want.(string); {
				case text == "<host.name>":
					host, err := os.Hostname()
					require.NoError(t, err)
					require.Equal(t, host, value.AsString())
				case text == "<process.pid>":
					require.EqualValues(t, os.Getpid(), value.AsInt64())
				case key == "service.instance.id":
					require.Regexp(t, "^"+text+"-[0-9a-f]{8}$", value.AsString())
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

const operators = "service.name=checkout,service.version=1.4.2,service.instance.id=pod-7,host.name=gpu-node-07," +
	"deployment.environment=staging,k8s.pod.name=p,host.gpu.count=3,nemo.run.id=exp-1,process.pid=1"

func TestFieldC3TheOperatorsAttributes(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", operators)
	t.Setenv("DEPLOYMENT_ENV", "prod")
	t.Setenv("SLURM_JOB_ID", "77")
	t.Setenv("KUBERNETES_SERVICE_HOST", "1.1.1.1")
	t.Setenv("K8S_POD_NAME", "guess")
	t.Setenv("CUDA_VISIBLE_DEVICES", "0")
	cfg := jobConfig("all_ranks", 1)
	cfg.RunID = ""
	exported, _ := setUpRank(t, cfg, 3, 8)
	got := resourceOf(exported[0])
	for key, want := range map[attribute.Key]attribute.Value{
		"service.name": attribute.StringValue("checkout"), "service.version": attribute.StringValue("1.4.2"),
		"service.instance.id": attribute.StringValue("pod-7"), "host.name": attribute.StringValue("gpu-node-07"),
		"deployment.environment": attribute.StringValue("staging"), "k8s.pod.name": attribute.StringValue("p"),
		"host.gpu.count": attribute.IntValue(3), "nemo.run.id": attribute.StringValue("exp-1"),
		"dl.rank": attribute.IntValue(3), "process.pid": attribute.IntValue(os.Getpid()),
		"telemetry.distro.name": attribute.StringValue("nemo-lens"), "telemetry.distro.version": attribute.StringValue(Version),
	} {
		require.Equal(t, want, got[key], key)
	}

	// A variable of its own comes before the general one, and code before both.
	t.Setenv("OTEL_SERVICE_NAME", "trainer")
	exported, _ = setUpRank(t, cfg, 3, 8)
	require.Equal(t, "trainer", resourceOf(exported[0])["service.name"].AsString())
	cfg.ServiceName = "mine"
	exported, _ = setUpRank(t, cfg, 3, 8, WithResourceAttributes(semconv.ServiceVersionKey.String("2"), semconv.HostNameKey.String("h"), semconv.DLRankKey.Int(5)))
	got = resourceOf(exported[0])
	require.Equal(t, "mine", got["service.name"].AsString())
	require.Equal(t, "2", got["service.version"].AsString())
	require.Equal(t, "h", got["host.name"].AsString())
	require.EqualValues(t, 5, got["dl.rank"].AsInt64())

	// Without the operator: what is found out, and lens's version where the
	// build does not say the program's, as in a test.
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	t.Setenv("OTEL_SERVICE_NAME", "")
	cfg.ServiceName = ""
	exported, _ = setUpRank(t, cfg, 3, 8)
	got = resourceOf(exported[0])
	require.Equal(t, "nemo", got["service.name"].AsString())
	require.Equal(t, Version, got["service.version"].AsString())
	require.Equal(t, "prod", got["deployment.environment"].AsString())
	require.Equal(t, "guess", got["k8s.pod.name"].AsString())
	require.Equal(t, "77", got["nemo.run.id"].AsString())
}

func TestFieldC3TheNameInTheConfiguration(t *testing.T) {
	for _, c := range []struct{ name, attrs, want, source string }{
		{"", "", "nemo", "default"},
		{"", "service.name=checkout", "checkout", "OTEL_RESOURCE_ATTRIBUTES"},
		{"trainer", "service.name=checkout", "trainer", "OTEL_SERVICE_NAME"},
		{"", "service.name=", "nemo", "default"},
		{"", `"service.name=a%20b"`, "a b", "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		cfg, err := fromEnviron([]string{"OTEL_SERVICE_NAME=" + c.name, "OTEL_RESOURCE_ATTRIBUTES=" + c.attrs}, "", "", nil)
		require.NoError(t, err)
		require.Equal(t, c.want, cfg.ServiceName)
		require.Contains(t, cfg.String(), fmt.Sprintf("otel_service_name=%q (%s)", c.want, c.source))
	}
}

func TestFieldC4AChildIsAnInstanceOfItsOwn(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=pod-7,team=a")
	cfg := jobConfig("all_ranks", 1)
	cfg.Exporter = exporterNone
	h, err := SetupTelemetry(context.Background(), cfg, discard())
	require.NoError(t, err)
	defer func() { _ = h.Shutdown(context.Background()) }()
	env := strings.Join(h.ChildEnv(context.Background(), os.Environ()), "\n")
	require.Contains(t, env, "team=a")
	require.Contains(t, env, "nemo.run.id=run")
	require.NotContains(t, env, "service.instance.id")
}

func TestFieldC1QuotesOfAnEnvFile(t *testing.T) {
	cfg, err := fromEnviron([]string{
		`OTEL_SERVICE_NAME="checkout"`, `NEMO_LENS_ENABLED="1"`, `NEMO_LENS_SPAN_GROUPS='step'`, `NEMO_LENS_BATCH_DELAY="2s"`,
		`NEMO_LENS_EXPORT_RANK=' 3 '`, `NEMO_LENS_EXPORTER=""`, `NEMO_LENS_HEADERS="a=b"`, `WANDB_PROJECT="p "`,
	}, "", "", nil)
	require.NoError(t, err)
	require.True(t, cfg.Enabled)
	require.Equal(t, []any{"checkout", "step", 2 * time.Second, 3, "otlp", "a=b", "p "},
		[]any{cfg.ServiceName, cfg.SpanGroups, cfg.BatchDelay, cfg.ExportRank, cfg.Exporter, cfg.Headers, cfg.WandbProject})
	_, err = fromEnviron([]string{`NEMO_LENS_ENABLED="yess"`}, "", "", nil)
	require.ErrorContains(t, err, `NEMO_LENS_ENABLED="yess": want one of 1, true`)
}

// setUpInEnv sets up without a rank from the program, and returns the rank and
// what is logged.
func setUpInEnv(t *testing.T, cfg Config, opts ...Option) (rank, world int64, log string) {
	t.Helper()
	spans := keep{tracetest.NewInMemoryExporter()}
	var text bytes.Buffer
	opts = append(opts, WithSpanExporter(spans), WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	h, err := SetupTelemetry(context.Background(), cfg, opts...)
	require.NoError(t, err)
	_, span := ManagedSpan(context.Background(), Job, "job")
	End(span, nil)
	require.NoError(t, h.Shutdown(context.Background()))
	require.Len(t, spans.GetSpans(), 1, text.String())
	res := resourceOf(spans.GetSpans()[0])
	return res["dl.rank"].AsInt64(), res["dl.world_size"].AsInt64(), text.String()
}

func TestFieldC2RanksAreDetected(t *testing.T) {
	for _, name := range []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_JOB_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
	cfg := jobConfig("all_ranks", 1)
	for _, c := range []struct {
		rank, world string
		opts        []Option
		want        [2]int64
		says        string
	}{
		{"3", "8", nil, [2]int64{3, 8}, ""},
		{"3", "8", []Option{WithRank(1, 2)}, [2]int64{1, 2}, ""},
		{"3", "8", []Option{WithRank(1, 2), WithRankFromEnv()}, [2]int64{3, 8}, ""},
		{"", "", []Option{WithRank(1, 2), WithRankFromEnv()}, [2]int64{1, 2}, ""},
		{"x", "8", nil, [2]int64{0, 1}, "counts as rank 0 of 1"},
		{"8", "8", nil, [2]int64{0, 1}, "want 0 <= rank < world size"},
		{"8", "8", []Option{WithRank(1, 2)}, [2]int64{1, 2}, ""},
		{"", "8", nil, [2]int64{0, 1}, "set both or neither"},
	} {
		t.Setenv("RANK", c.rank)
		t.Setenv("WORLD_SIZE", c.world)
		rank, world, log := setUpInEnv(t, cfg, c.opts...)
		require.Equal(t, c.want, [2]int64{rank, world}, "%+v", c)
		require.Equal(t, c.says != "", strings.Contains(log, "level=WARN"), log)
		require.Contains(t, log, c.says)
	}
	t.Setenv("RANK", "x")
	_, err := SetupTelemetry(context.Background(), cfg, WithRankFromEnv(), discard())
	require.ErrorContains(t, err, `RANK="x"`)

	// An indexed job without a size exports, and says why it has no rank.
	t.Setenv("RANK", "")
	t.Setenv("WORLD_SIZE", "")
	t.Setenv("JOB_COMPLETION_INDEX", "2")
	for _, opts := range [][]Option{nil, {WithRankFromEnv()}} {
		rank, world, log := setUpInEnv(t, cfg, opts...)
		require.Equal(t, [2]int64{0, 1}, [2]int64{rank, world})
		require.Contains(t, log, "JOB_COMPLETION_INDEX")
		require.Contains(t, log, "set WORLD_SIZE")
	}
}

func TestFieldC7OneRunIDForAJob(t *testing.T) {
	t.Setenv("SLURM_JOB_ID", "")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	cfg := jobConfig("all_ranks", 1)
	cfg.RunID = ""
	for _, c := range []struct {
		elastic     string
		rank, world int
		warns       bool
	}{
		{"none", 0, 2, true}, {"", 0, 2, true}, {"none", 1, 2, false}, {"none", 0, 1, false}, {"exp-7", 0, 2, false},
	} {
		t.Setenv("TORCHELASTIC_RUN_ID", c.elastic)
		exported, log := setUpRank(t, cfg, c.rank, c.world)
		require.Equal(t, c.warns, strings.Contains(log, "random run ids"), "%+v: %s", c, log)
		if c.elastic == "exp-7" {
			require.Equal(t, "exp-7", resourceOf(exported[0])["nemo.run.id"].AsString())
		}
	}
}
