//go:build !lens_noop

package lens_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
)

// The whole of a program: configure, set up, work, shut down. FromEnv in place
// of DefaultConfig leaves the choices to the operators.
func ExampleSetupTelemetry() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups = true, "none", "default,step"

	spans := tracetest.NewInMemoryExporter() // a collector in a real program
	handle, err := lens.SetupTelemetry(context.Background(), cfg,
		lens.WithSpanExporter(spans), lens.WithLogger(quiet))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer handle.Shutdown(context.Background())

	_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
	lens.End(span, nil)

	if err := handle.ForceFlush(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(spans.GetSpans()), "span of", lens.EnabledSpanGroups())
	// Output: 1 span of checkpoint,evaluate,job,step
}

// Options are gathered from where they are known.
func ExampleOption() {
	var opts []lens.Option
	if rank, world, ok := launched(); ok {
		opts = append(opts, lens.WithRank(rank, world))
	}
	opts = append(opts, lens.WithLogger(quiet))

	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter = true, "none"
	h, err := lens.SetupTelemetry(context.Background(), cfg, opts...)
	fmt.Println(h.IsExporting(), err, h.Shutdown(context.Background()))
	// Output: true <nil> <nil>
}

func launched() (rank, world int, ok bool) { return 1, 2, true }

// Disabled is the default: nothing starts, and a handle that does nothing is
// returned.
func ExampleSetupTelemetry_disabled() {
	handle, err := lens.SetupTelemetry(context.Background(), lens.DefaultConfig())
	fmt.Println(err, handle.IsExporting(), lens.IsSpanGroupEnabled(lens.Job), handle.Shutdown(context.Background()))
	// Output: <nil> false false <nil>
}

// A mistake is found before anything is started.
func ExampleSetupTelemetry_mistake() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups = true, "per_stpe"
	_, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(quiet))
	fmt.Println(strings.Contains(err.Error(), `did you mean "per_step"?`), lens.Current())
	// Output: true <nil>
}

func ExampleErrAlreadySetUp() {
	first := setUp()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter = true, "none"

	_, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(quiet))
	fmt.Println(errors.Is(err, lens.ErrAlreadySetUp))

	shutDown(first)
	second, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(quiet))
	fmt.Println(err)
	shutDown(second)
	// Output:
	// true
	// <nil>
}

// A test that cannot end the telemetry of the code that it tests first.
func ExampleWithAllowReinit() {
	left := setUp()
	mine := setUp(lens.WithAllowReinit())
	fmt.Println(lens.Current() == mine)
	shutDown(mine)
	shutDown(left)
	// Output: true
}

// A library that borrows what the application has set up, and leaves it running.
func ExampleCurrent() {
	fmt.Println(lens.Current().IsExporting()) // safe on nil
	h := setUp()
	fmt.Println(lens.Current().IsExporting())
	shutDown(h)
	fmt.Println(lens.Current() == nil)
	// Output:
	// false
	// true
	// true
}

// A program with a main function of its own: a SIGTERM of the scheduler still
// delivers what was recorded, and ends the process as before.
func ExampleShutdownOnSignal() {
	h := setUp()
	defer shutDown(h)
	stop := lens.ShutdownOnSignal(h) // SIGINT and SIGTERM
	defer stop()

	fmt.Println("exports:", h.IsExporting())
	// Output: exports: true
}

// A launcher that knows the ranks says so; only the last rank exports then.
func ExampleWithRank() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter = true, "none"
	for rank := range 3 {
		h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithRank(rank, 3), lens.WithLogger(quiet))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("rank", rank, "exports:", h.IsExporting())
		shutDown(h)
	}
	// Output:
	// rank 0 exports: false
	// rank 1 exports: false
	// rank 2 exports: true
}

// torchrun, SLURM, MPI and Kubernetes leave the rank in the environment.
func ExampleWithRankFromEnv() {
	defer setenv("RANK=1", "WORLD_SIZE=8")()

	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithRankFromEnv(), lens.WithSpanExporter(spans), lens.WithExportStrategy(everyRank))
	defer shutDown(h)
	printResource(h, spans, "dl.rank", "dl.world_size")
	// Output:
	// dl.rank=1
	// dl.world_size=8
}

func everyRank(lens.Config, int, int) (bool, error) { return true, nil }

// printResource prints attributes of the resource that spans are sent with.
func printResource(h *lens.TelemetryHandle, spans *tracetest.InMemoryExporter, keys ...attribute.Key) {
	_, span := h.Tracer().Start(context.Background(), "any")
	span.End()
	if err := h.ForceFlush(context.Background()); err != nil {
		fmt.Println(err)
	}
	var res *resource.Resource = spans.GetSpans()[0].Resource
	for _, key := range keys {
		if v, ok := res.Set().Value(key); ok {
			fmt.Printf("%s=%s\n", key, v.String())
		}
	}
}

// What all spans of the process have in common.
func ExampleWithResourceAttributes() {
	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanExporter(spans),
		lens.WithResourceAttributes(attribute.String("model", "llama-8b"), attribute.Int("dl.tensor_parallel", 4)))
	defer shutDown(h)
	printResource(h, spans, "model", "dl.tensor_parallel", "nemo.run.id")
	// Output:
	// model=llama-8b
	// dl.tensor_parallel=4
	// nemo.run.id=run-7
}

// CUDA_VISIBLE_DEVICES is read as CUDA reads it: the first entry that names no
// device ends the list.
func ExampleWithDetection() {
	defer setenv("CUDA_VISIBLE_DEVICES=0,-1,1")()

	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanExporter(spans), lens.WithDetection(lens.Detection{ProcessStart: true}))
	printResource(h, spans, "host.gpu.count")
	shutDown(h)
	// Output:
	// host.gpu.count=1
}

// The first rank of each pipeline stage exports, whatever the configuration
// says.
func ExampleWithExportStrategy() {
	perStage := func(_ lens.Config, rank, _ int) (bool, error) { return rank%4 == 0, nil }
	for _, rank := range []int{3, 4} {
		h := setUp(lens.WithRank(rank, 8), lens.WithExportStrategy(perStage))
		fmt.Println("rank", rank, "exports:", h.IsExporting())
		shutDown(h)
	}
	// Output:
	// rank 3 exports: false
	// rank 4 exports: true
}

// An exporter of the application's own takes the place of the configured one.
func ExampleWithSpanExporter() {
	var exporter lens.SpanExporter = printer{}
	h := setUp(lens.WithSpanExporter(exporter))
	_, span := lens.ManagedSpan(context.Background(), lens.Evaluate, "evaluate")
	lens.End(span, nil)
	shutDown(h)
	// Output: exported: evaluate
}

type printer struct{}

func (printer) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		fmt.Println("exported:", s.Name())
	}
	return nil
}

func (printer) Shutdown(context.Context) error { return nil }

// A processor sees spans as they start and end, beside the export.
func ExampleWithSpanProcessor() {
	var longest lens.SpanProcessor = &slowest{}
	h := setUp(lens.WithSpanProcessor(longest))
	now := time.Now()
	for i, seconds := range []time.Duration{1, 3, 2} {
		name := fmt.Sprint("evaluate shard ", i)
		if _, err := lens.EmitSpan(context.Background(), lens.Evaluate, name, now, now.Add(seconds*time.Second)); err != nil {
			fmt.Println(err)
		}
	}
	shutDown(h)
	// Output: slowest: evaluate shard 1 with 3s
}

// slowest says at the end which span took longest. The SDK calls OnEnd of
// spans that end at the same time concurrently; here they end one by one.
type slowest struct {
	name string
	took time.Duration
}

func (s *slowest) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (s *slowest) OnEnd(span sdktrace.ReadOnlySpan) {
	if took := span.EndTime().Sub(span.StartTime()); took > s.took {
		s.name, s.took = span.Name(), took
	}
}

func (s *slowest) Shutdown(context.Context) error {
	fmt.Println("slowest:", s.name, "with", s.took)
	return nil
}

func (s *slowest) ForceFlush(context.Context) error { return nil }

// lens's own messages go where the application's log goes.
func ExampleWithLogger() {
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&out, nil))
	h := setUp(lens.WithLogger(logger), lens.WithRank(0, 1))
	shutDown(h)

	var startUp struct{ Msg, Service, Groups string }
	if err := json.NewDecoder(&out).Decode(&startUp); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%+v\n", startUp)
	// Output: {Msg:lens: telemetry is on Service:nemo Groups:checkpoint,evaluate,job}
}

// The console exporter writes one JSON object a line.
func ExampleWithConsoleWriter() {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.MetricsEnabled = true, "console", false
	var out bytes.Buffer
	h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithConsoleWriter(&out), lens.WithLogger(quiet))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, span := lens.ManagedSpan(context.Background(), lens.Evaluate, "evaluate", attribute.Float64("accuracy", 0.97))
	lens.End(span, nil)
	shutDown(h)

	for line := range strings.Lines(out.String()) {
		var span struct{ Name string }
		fmt.Println(json.Unmarshal([]byte(line), &span), span.Name)
	}
	// Output: <nil> evaluate
}

// A library inside another program leaves the OTel globals alone.
func ExampleWithGlobalProvider() {
	before := otel.GetTracerProvider()
	h := setUp(lens.WithGlobalProvider(false))
	fmt.Println(otel.GetTracerProvider() == before)
	shutDown(h)
	// Output: true
}
