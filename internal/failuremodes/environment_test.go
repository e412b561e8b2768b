//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

func TestC6NumbersOfEveryKind(t *testing.T) {
	s := otlptest.Start(t)
	numbers := []string{" ", "0", "-1", "1", "1e9", "99999999999999999999", "\x01∞", "10s"}
	for _, variable := range []string{
		"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT",
		"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT",
		"OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT",
		"OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_SCHEDULE_DELAY",
	} {
		t.Run(variable, func(t *testing.T) {
			for _, text := range numbers {
				s.Reset()
				tm, err := fromEnv(t, variables(variable, text, "OTEL_EXPORTER_OTLP_ENDPOINT", s.GRPCURL(), "NEMO_LENS_METRICS_ENABLED", "1", "NEMO_LENS_LOGS_ENABLED", "1"))
				require.NoError(t, err, text)
				makeSpans(3)
				emit(tm, "hello")
				err = tm.Shutdown(context.Background())
				if text != "1" { // of one span in a queue of one, or in a millisecond, nothing is promised
					require.NoError(t, err, text)
					require.Equal(t, 3, s.Count(otlptest.Traces), text)
				}
				said := strings.Count(tm.log.String(), variable+"=") // not those of an export that a millisecond did not suffice for
				require.LessOrEqual(t, said, 2, "%q: %s", text, tm.log)
				if _, err := strconv.Atoi(strings.TrimSpace(text)); err != nil && strings.TrimSpace(text) != "" {
					require.NotZero(t, said, "nothing said of %q", text)
				}
			}
		})
	}
	for _, variable := range []string{
		"NEMO_LENS_QUEUE_SIZE", "NEMO_LENS_BATCH_SIZE", "NEMO_LENS_BATCH_DELAY", "NEMO_LENS_QUEUE_WAIT", "NEMO_LENS_SHUTDOWN_TIMEOUT",
		"NEMO_LENS_EXPORT_RANK", "NEMO_LENS_EXPORT_SAMPLE_RATE",
	} {
		t.Run(variable, func(t *testing.T) {
			for _, text := range numbers {
				tm, err := fromEnv(t, variables(variable, text, "NEMO_LENS_ENDPOINT", s.GRPCURL(), "NEMO_LENS_EXPORT_STRATEGY", "all_ranks"))
				if err != nil {
					require.ErrorContains(t, err, variable)
					// What FromEnv returns beside the error works.
					cfg, _ := lens.FromEnv("", "", nil)
					require.NoError(t, cfg.Validate())
					continue
				}
				makeSpans(3)
				if err := tm.Shutdown(context.Background()); text != "1" {
					require.NoError(t, err, text)
				}
				requireBalance(t, tm.Stats(), 3)
			}
		})
	}
	t.Run("a batch larger than the queue", func(t *testing.T) {
		s.Reset()
		tm, err := fromEnv(t, variables("OTEL_BSP_MAX_QUEUE_SIZE", "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1000", "NEMO_LENS_ENDPOINT", s.GRPCURL(),
			"NEMO_LENS_BLOCK_ON_FULL_QUEUE", "1"))
		require.NoError(t, err)
		makeSpans(100)
		require.NoError(t, tm.Shutdown(context.Background()))
		require.Equal(t, 100, s.Count(otlptest.Traces))
	})
}

var idle = program("C7", func() {
	h := mustSetUp()
	makeSpans(1)
	cpu := func() time.Duration {
		var r syscall.Rusage
		check(syscall.Getrusage(syscall.RUSAGE_SELF, &r), 70)
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	check(h.ForceFlush(context.Background()), 71)
	// Being idle is what is measured. A loop takes what it can get in every second; what
	// else there is to do, at the start and on a busy machine, leaves a quiet one.
	quiet := false
	for tries := 0; !quiet && tries < 30; tries++ {
		before := cpu()
		time.Sleep(time.Second)
		quiet = cpu()-before < 100*time.Millisecond
	}
	fmt.Println(quiet)
	_ = h.Shutdown(context.Background())
})

func TestC7AnIdleProcessSleeps(t *testing.T) {
	t.Parallel()
	for _, env := range []string{
		"OTEL_BSP_SCHEDULE_DELAY=0", "OTEL_BSP_SCHEDULE_DELAY=-5", "NEMO_LENS_BATCH_DELAY=0", "OTEL_METRIC_EXPORT_INTERVAL=0", "OTEL_BLRP_SCHEDULE_DELAY=0",
	} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			s := otlptest.Start(t)
			p := runChild(t, idle, exportTo(grpcProtocol, s.GRPCURL(), "NEMO_LENS_METRICS_ENABLED=1", "NEMO_LENS_LOGS_ENABLED=1", env)...)
			require.Zero(t, p.status(t), &p.stderr)
			require.Equal(t, "true\n", p.stdout.String(), "100 ms of CPU in each second of doing nothing")
		})
	}
}

func TestC8ResourceWithoutSchemaConflict(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), allSignals), lens.WithResourceAttributes(
		attribute.String("schema.url", "https://opentelemetry.io/schemas/1.4.0"), attribute.String("team", "blue")))
	_, span := lens.GroupTracerProvider(lens.Step).Tracer("old", trace.WithSchemaURL("https://opentelemetry.io/schemas/1.4.0")).Start(context.Background(), "x")
	span.End()
	require.NoError(t, tm.Shutdown(context.Background()))
	got := s.Spans()[0]
	require.Empty(t, got.ResourceSchemaURL)
	require.Equal(t, "https://opentelemetry.io/schemas/1.4.0", got.Scope.SchemaURL)
	require.Equal(t, "blue", got.Resource["team"])
	require.Equal(t, "nemo", got.Resource["service.name"])
}

func TestC9ABadItemCostsItself(t *testing.T) {
	s := otlptest.Start(t)
	for text, named := range map[string]string{
		"team=blue,nonsense,site=lab": "nonsense", "team=blue,,site=lab,": "", "team=blue,=empty,site=lab": "OTEL_RESOURCE_ATTRIBUTES",
		"team=blue,bad=%zz,site=lab": "", " team = blue , site=lab": "",
	} {
		t.Run(text, func(t *testing.T) {
			s.Reset()
			tm, err := fromEnv(t, variables("OTEL_RESOURCE_ATTRIBUTES", text, "OTEL_SERVICE_NAME", "trainer", "NEMO_LENS_ENDPOINT", s.GRPCURL()))
			require.NoError(t, err)
			makeSpans(1)
			require.NoError(t, tm.Shutdown(context.Background()))
			res := s.Spans()[0].Resource
			require.Equal(t, "blue", res["team"])
			require.Equal(t, "lab", res["site"])
			require.Equal(t, "trainer", res["service.name"])
			if named != "" {
				require.Contains(t, tm.log.String(), named)
			}
		})
	}
}

func TestC9Precedence(t *testing.T) {
	s := otlptest.Start(t)
	inherited := "service.name=other,service.instance.id=other,dl.rank=9,dl.world_size=9,nemo.run.id=other,service.version=other,process.pid=1,team=blue"
	for what, c := range map[string]struct {
		vars    map[string]string
		attrs   []attribute.KeyValue
		service string
	}{
		"default":                            {nil, nil, "nemo"},
		"OTEL_RESOURCE_ATTRIBUTES":           {variables("OTEL_RESOURCE_ATTRIBUTES", inherited), nil, "other"},
		"OTEL_SERVICE_NAME":                  {variables("OTEL_RESOURCE_ATTRIBUTES", inherited, "OTEL_SERVICE_NAME", "trainer"), nil, "trainer"},
		"the program's attributes come last": {variables("OTEL_RESOURCE_ATTRIBUTES", inherited, "OTEL_SERVICE_NAME", "trainer"), []attribute.KeyValue{attribute.String("service.name", "code")}, "code"},
	} {
		t.Run(what, func(t *testing.T) {
			s.Reset()
			vars := variables("NEMO_LENS_ENDPOINT", s.GRPCURL(), "NEMO_LENS_RUN_ID", "run-7", "NEMO_LENS_METRICS_ENABLED", "1", "NEMO_LENS_LOGS_ENABLED", "1")
			for k, v := range c.vars {
				vars[k] = v
			}
			tm, err := fromEnv(t, vars, lens.WithRank(1, 2), lens.WithResourceAttributes(c.attrs...))
			require.NoError(t, err)
			makeSpans(1)
			measure(t, tm)
			emit(tm, "hello")
			require.NoError(t, tm.Shutdown(context.Background()))
			for signal, res := range map[string]map[string]any{
				"spans": s.Spans()[0].Resource, "metrics": s.Metrics()[0].Resource, "logs": s.Logs()[0].Resource,
			} {
				require.Equal(t, c.service, res["service.name"], signal)
				require.EqualValues(t, 1, res["dl.rank"], signal)
				require.EqualValues(t, 2, res["dl.world_size"], signal)
				require.Equal(t, "run-7", res["nemo.run.id"], signal)
				if c.vars != nil {
					require.Equal(t, "other", res["service.instance.id"], signal)
					require.Equal(t, "other", res["service.version"], signal)
				} else {
					require.Regexp(t, "^run-7-rank1-[0-9a-f]{8}$", res["service.instance.id"], signal)
				}
				require.EqualValues(t, os.Getpid(), res["process.pid"], signal)
				if c.vars != nil {
					require.Equal(t, "blue", res["team"], signal)
				}
			}
		})
	}
}

var bareUser = program("C10", func() {
	h := mustSetUp()
	makeSpans(1)
	check(h.Shutdown(context.Background()), 80)
})

func TestC10ABareContainer(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := newChild(t, bareUser)
	p.Env = append([]string{childVariable + "=" + bareUser}, exportTo(grpcProtocol, s.GRPCURL(), "NEMO_LENS_METRICS_ENABLED=1")...)
	p.Path = copyOfThisBinary(t)
	p.Dir = "/"
	if os.Getuid() == 0 { // nobody else can become another user
		p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	}
	p.start(t)
	require.Zero(t, p.status(t), &p.stderr)
	require.NotContains(t, p.stderr.String(), "WARN")
	require.NotContains(t, p.stderr.String(), "ERROR")
	require.Equal(t, "run-7", s.Spans()[0].Resource["nemo.run.id"])
}

// copyOfThisBinary returns the path of one that every user may run.
func copyOfThisBinary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lens") // that of the test is closed to others
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	in, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	path := filepath.Join(dir, "child")
	// A process that another test starts meanwhile would have the file open for
	// writing until it has become its program, and a file like that is not executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return path
}

func TestC14Samplers(t *testing.T) {
	for _, c := range []struct {
		sampler, arg string
		sampled      string // all, none or some
		said         bool
	}{
		{"", "", "all", false}, {"  ", "", "all", false}, {"always_on", "", "all", false}, {"always_off", "", "none", false},
		{"parentbased_always_off", "", "none", false}, {"traceidratio", "0", "none", false}, {"traceidratio", "1", "all", false},
		{"traceidratio", "0.5", "some", false}, {"parentbased_traceidratio", "0.5", "some", false}, {"traceidratio", "", "all", false},
		{"traceidratio", "abc", "all", true}, {"traceidratio", "-1", "all", true}, {"traceidratio", "2", "all", true}, {"traceidratio", "NaN", "all", true},
		{"nonsense", "", "all", true},
	} {
		t.Run(c.sampler+" "+c.arg, func(t *testing.T) {
			tm, err := fromEnv(t, variables("OTEL_TRACES_SAMPLER", c.sampler, "OTEL_TRACES_SAMPLER_ARG", c.arg), lens.WithSpanExporter(&exporter{}))
			require.NoError(t, err)
			const made = 400
			sampled := 0
			for range made {
				_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
				if span.SpanContext().IsSampled() {
					sampled++
				}
				lens.End(span, nil)
			}
			require.NoError(t, tm.Shutdown(context.Background()))
			switch c.sampled {
			case "all":
				require.Equal(t, made, sampled)
			case "none":
				require.Zero(t, sampled)
			default:
				require.InDelta(t, made/2, sampled, made/5)
			}
			require.EqualValues(t, sampled, tm.Stats().Exported)
			require.Equal(t, c.said, strings.Contains(tm.log.String(), "OTEL_TRACES_SAMPLER"), tm.log)
		})
	}
}

func TestC14BlankIsUnset(t *testing.T) {
	for _, blank := range []string{"", "  ", "\t"} {
		t.Setenv("JOB_SPAN_GROUPS", blank)
		t.Setenv("NEMO_LENS_SPAN_GROUPS", "step")
		t.Setenv("JOB_EXPORTER", "console")
		t.Setenv("NEMO_LENS_EXPORTER", "none")
		t.Setenv("OTEL_SERVICE_NAME", blank)
		cfg, err := lens.FromEnv("JOB", "NEMO_LENS", nil)
		require.NoError(t, err)
		require.Equal(t, "step", cfg.SpanGroups)
		require.Equal(t, "console", cfg.Exporter)
		require.Equal(t, "nemo", cfg.ServiceName)
	}
}

func TestC15UnknownNamesAreSaid(t *testing.T) {
	t.Run("variable", func(t *testing.T) {
		tm, err := fromEnv(t, variables("NEMO_LENS_SPAN_GROUP", "step", "NEMO_LENS_EXPORTERS", "console", "NEMO_LENS_EXPORTER", "none"))
		require.NoError(t, err)
		require.Contains(t, tm.log.String(), `variable NEMO_LENS_SPAN_GROUP is not one that lens reads (did you mean \"NEMO_LENS_SPAN_GROUPS\"?)`)
		require.Contains(t, tm.log.String(), "NEMO_LENS_EXPORTERS")
	})
	t.Run("groups of a fixed class", func(t *testing.T) {
		_, err := trySetUp(t, config(func(c *lens.Config) { c.SpanGroups = "setp,job,per_stpe" }))
		var unknown *lens.UnknownGroupError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, []string{"setp", "per_stpe"}, unknown.Unknown)
		require.ErrorContains(t, err, `"step"`)
		require.ErrorContains(t, err, "forward_backward", "the valid ones")
	})
	t.Run("groups of a registry", func(t *testing.T) {
		var registry lens.GroupRegistry
		require.NoError(t, registry.Register(lens.BaseGroups))
		tm, err := trySetUp(t, config(func(c *lens.Config) {
			c.Groups, c.SpanGroups, c.Exporter = &registry, "setp,job", "none"
		}))
		require.NoError(t, err)
		require.Contains(t, tm.log.String(), "setp")
		require.True(t, lens.IsSpanGroupEnabled(lens.Job), "the known part applies")
		require.Equal(t, []string{"setp"}, lens.PendingSpanGroups())
	})
	t.Run("the effective configuration", func(t *testing.T) {
		t.Setenv("NEMO_LENS_SPAN_GROUPS", "step")
		t.Setenv("NEMO_LENS_HEADERS", "authorization=hunter2")
		t.Setenv("NEMO_LENS_ENDPOINT", "http://me:hunter2@collector:4317")
		cfg, err := lens.FromEnv("", "", nil)
		require.NoError(t, err)
		require.Contains(t, cfg.String(), `span_groups="step" (NEMO_LENS_SPAN_GROUPS)`)
		require.NotContains(t, cfg.String(), "hunter2")
	})
}

func TestC16Launchers(t *testing.T) {
	torchrun := func(rank, world string) map[string]string {
		return variables("RANK", rank, "LOCAL_RANK", rank, "WORLD_SIZE", world)
	}
	for what, c := range map[string]struct {
		vars        map[string]string
		rank, world int
		exports     bool   // with single_rank, the last one
		refused     string // the error
	}{
		"none":               {nil, 0, 1, true, ""},
		"torchrun, last":     {torchrun("3", "4"), 3, 4, true, ""},
		"torchrun, first":    {torchrun("0", "4"), 0, 4, false, ""},
		"srun":               {variables("SLURM_PROCID", "1", "SLURM_LOCALID", "1", "SLURM_NTASKS", "2"), 1, 2, true, ""},
		"mpirun":             {variables("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2"), 1, 2, true, ""},
		"torchrun in srun":   {variables("RANK", "7", "WORLD_SIZE", "8", "SLURM_PROCID", "0", "SLURM_NTASKS", "1"), 7, 8, true, ""},
		"rank beyond world":  {torchrun("4", "4"), 0, 0, false, "4"},
		"negative":           {torchrun("-1", "4"), 0, 0, false, "RANK"},
		"junk":               {torchrun("two", "4"), 0, 0, false, "RANK"},
		"rank without world": {variables("RANK", "3"), 0, 0, false, "WORLD_SIZE"},
	} {
		t.Run(what, func(t *testing.T) {
			s := otlptest.Start(t)
			vars := variables("NEMO_LENS_ENDPOINT", s.GRPCURL())
			for k, v := range c.vars {
				vars[k] = v
			}
			tm, err := fromEnv(t, vars, lens.WithRankFromEnv())
			if c.refused != "" && err != nil {
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			if c.refused != "" {
				require.Contains(t, tm.log.String(), c.refused, "neither refused nor said")
				return
			}
			require.Equal(t, c.exports, tm.IsExporting())
			require.Equal(t, c.exports, lens.IsSpanGroupEnabled(lens.Step))
			makeSpans(1)
			require.NoError(t, tm.Shutdown(context.Background()))
			if c.exports {
				require.EqualValues(t, c.rank, s.Spans()[0].Resource["dl.rank"])
				require.EqualValues(t, c.world, s.Spans()[0].Resource["dl.world_size"])
			}
		})
	}
	t.Run("ranks are read without being asked for", func(t *testing.T) {
		for k, v := range torchrun("0", "4") {
			t.Setenv(k, v)
		}
		none := config(func(c *lens.Config) { c.Exporter = "none" })
		require.False(t, setUp(t, none).IsExporting(), "the last rank exports")
	})
	t.Run("a process that is no rank", func(t *testing.T) {
		for k, v := range torchrun("0", "4") {
			t.Setenv(k, v)
		}
		none := config(func(c *lens.Config) { c.Exporter = "none" })
		require.True(t, setUp(t, none, lens.WithRank(0, 1)).IsExporting())
	})
	t.Run("nobody exports", func(t *testing.T) {
		tm := setUp(t, config(func(c *lens.Config) { c.ExportRank = 4 }), lens.WithRank(0, 4))
		require.False(t, tm.IsExporting())
		require.Contains(t, tm.log.String(), "no rank exports")
	})
}

var whoAmI = program("C17", func() {
	for range 2 { // a second set-up in one process is the same instance
		h := mustSetUp()
		makeSpans(1)
		check(h.Shutdown(context.Background()), 80)
	}
})

func TestC17TwoProcessesAreTwoInstances(t *testing.T) {
	t.Parallel()
	ids := map[any]bool{}
	for range 2 {
		s := otlptest.Start(t)
		p := startChild(t, whoAmI, append(exportTo(grpcProtocol, s.GRPCURL()), "NEMO_LENS_RUN_ID=")...)
		require.Zero(t, p.status(t), &p.stderr)
		spans := s.Spans()
		require.Len(t, spans, 2)
		for _, key := range []string{"service.instance.id", "host.name", "process.pid", "nemo.run.id", "dl.rank", "dl.world_size"} {
			require.Contains(t, spans[0].Resource, key)
			if key != "service.instance.id" && key != "nemo.run.id" {
				require.Equal(t, spans[0].Resource[key], spans[1].Resource[key], key)
			}
		}
		require.EqualValues(t, p.Process.Pid, spans[0].Resource["process.pid"])
		ids[spans[0].Resource["service.instance.id"]] = true
	}
	require.Len(t, ids, 2)
}

// FC4: the rank and the run are the same in both, as for a process and its child.
func TestFieldC4ProcessesOfOneRunAreInstances(t *testing.T) {
	t.Parallel()
	ids := map[any]bool{}
	for range 2 {
		s := otlptest.Start(t)
		p := startChild(t, whoAmI, append(exportTo(grpcProtocol, s.GRPCURL()), "NEMO_LENS_RUN_ID=run")...)
		require.Zero(t, p.status(t), &p.stderr)
		require.Equal(t, "run", s.Spans()[0].Resource["nemo.run.id"])
		ids[s.Spans()[0].Resource["service.instance.id"]] = true
	}
	require.Len(t, ids, 2)
}

func TestC18KubernetesServiceVariables(t *testing.T) {
	s := otlptest.Start(t)
	tm, err := fromEnv(t, variables("NEMO_LENS_ENDPOINT", s.GRPCURL(),
		"NEMO_LENS_SERVICE_HOST", "10.96.0.12", "NEMO_LENS_SERVICE_PORT", "4317", "NEMO_LENS_SERVICE_PORT_GRPC", "4317", "NEMO_LENS_PORT", "tcp://10.96.0.12:4317",
		"NEMO_LENS_PORT_4317_TCP", "tcp://10.96.0.12:4317", "NEMO_LENS_PORT_4317_TCP_PROTO", "tcp", "NEMO_LENS_PORT_4317_TCP_PORT", "4317",
		"NEMO_LENS_PORT_4317_TCP_ADDR", "10.96.0.12"))
	require.NoError(t, err)
	require.True(t, deliver(t, tm, s))
	require.NotContains(t, tm.log.String(), "level=WARN")
	for _, setting := range strings.Fields(lens.DefaultConfig().String()) {
		name, _, _ := strings.Cut(setting, "=")
		require.False(t, strings.HasSuffix(name, "_port") || strings.HasSuffix(name, "_host"), name)
	}
}

func TestC19ZeroIsNeverUnlimited(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_PROTOCOL", protocol, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+otlptest.SilentAddr(t),
				"OTEL_EXPORTER_OTLP_TIMEOUT", "0", "OTEL_BSP_EXPORT_TIMEOUT", "0", "OTEL_BSP_SCHEDULE_DELAY", "0", "NEMO_LENS_SHUTDOWN_TIMEOUT", "200ms"))
			require.NoError(t, err)
			makeSpans(1)
			took := bounded(t, "Shutdown", func() { err = tm.Shutdown(context.Background()) })
			require.Less(t, took, slack)
			require.ErrorContains(t, err, "1 of 1 spans lost")
		})
	}
	t.Run("a zero shutdown timeout is the default", func(t *testing.T) {
		for _, zero := range []time.Duration{0, -1} {
			s := otlptest.Start(t)
			s.SetFault(otlptest.Slow(50 * time.Millisecond)) // more than nothing
			tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), within(zero)))
			makeSpans(1)
			require.NoError(t, tm.Shutdown(context.Background()))
			require.Equal(t, 1, s.Count(otlptest.Traces))
		}
	})
}

func TestC19AZeroShutdownTimeoutEnds(t *testing.T) {
	t.Parallel()
	p := startChild(t, shutdownOnSignal, exportTo(grpcProtocol, "http://"+otlptest.SilentAddr(t), "NEMO_LENS_SHUTDOWN_TIMEOUT=0")...)
	p.ready(t)
	p.signal(t, syscall.SIGTERM)
	require.Equal(t, -int(syscall.SIGTERM), p.status(t))
	require.Less(t, p.took, 5*time.Second+slack)
}

// The SDK reads OTEL_RESOURCE_ATTRIBUTES itself, once for each signal, and complains
// through the error handler about what lens has said already.
var badResource = program("C9 logger", func() {
	h := mustSetUp(lens.WithLogger(slog.New(slog.NewTextHandler(os.Stdout, nil))))
	makeSpans(1)
	check(h.Shutdown(context.Background()), 80)
})

func TestC9NothingIsSaidPastTheLogger(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := runChild(t, badResource, exportTo(grpcProtocol, s.GRPCURL(), "NEMO_LENS_METRICS_ENABLED=1", "NEMO_LENS_LOGS_ENABLED=1",
		"OTEL_RESOURCE_ATTRIBUTES=team=blue,nonsense")...)
	require.Zero(t, p.status(t), &p.stderr)
	require.Empty(t, p.stderr.String())
	require.Contains(t, p.stdout.String(), "OTEL_RESOURCE_ATTRIBUTES")
	require.Equal(t, 1, strings.Count(p.stdout.String(), "level=WARN"), &p.stdout)
	require.Equal(t, "blue", s.Spans()[0].Resource["team"])
}
