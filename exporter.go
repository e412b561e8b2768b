//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"io"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/nemo-lens/lens/internal/batch"
	"github.com/nemo-lens/lens/internal/console"
	"github.com/nemo-lens/lens/internal/detect"
	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/otelenv"
	"github.com/nemo-lens/lens/internal/otlp"
	"github.com/nemo-lens/lens/internal/provider"
	"github.com/nemo-lens/lens/internal/strategy/sampler"
)

// Version is the version of the library, as in service.version.
const Version = "0.1.0-dev"

// settings resolves everything that a pipeline needs. It starts no goroutine;
// what it opens is closed again when it fails.
func (o *options) settings(ctx context.Context, cfg Config, runID string) (provider.Settings, func() error, error) {
	s := provider.Settings{Log: log(), IDs: identity.NewIDGenerator(), Processors: append([]SpanProcessor{scopedAttributes{}}, o.processors...)}
	env := os.LookupEnv

	chosen, warnings := otelenv.ParseSampler(env)
	s.Sampler = chosen.SDK()
	if cfg.SamplerEnabled {
		s.Sampler = sampler.NewSampler(o.rank, cfg.ExportSampleRate, s.Sampler)
	}
	limits, more := otelenv.ParseSpanLimits(env)
	s.Limits, warnings = limits, append(warnings, more...)
	queue, more := otelenv.ParseBatch(env)
	warnings = append(warnings, more...)
	s.Batch = batch.Config{
		QueueSize: first(cfg.QueueSize, queue.MaxQueueSize), BatchSize: first(cfg.BatchSize, queue.MaxExportBatchSize),
		Delay: first(cfg.BatchDelay, queue.ScheduleDelay), ExportTimeout: queue.ExportTimeout,
		MaxWait: cfg.QueueWait, Block: cfg.BlockOnFullQueue,
	}
	inherited, more := otelenv.ResourceAttributes(env)
	warnings = append(warnings, more...)
	detected, detectWarnings := detect.Detect(detect.Options{})
	for _, w := range detectWarnings {
		warnings = append(warnings, otelenv.Warning(w))
	}
	s.Resource = o.resource(cfg, runID, inherited, detected)

	name := cfg.Exporter
	if cfg.sources["EXPORTER"] == "" && name == exporterOTLP {
		fromOTel, more := otelenv.ParseExporter(otelenv.Traces, env)
		warnings = append(warnings, more...)
		name = first(fromOTel, name)
	}
	warn(warnings)
	switch {
	case o.exporter != nil:
		s.Exporter, s.Endpoint = o.exporter, fmt.Sprintf("the program's %T", o.exporter)
	case name == exporterConsole:
		w, closeFile, where, err := o.consoleOutput(cfg)
		if err != nil {
			return s, nil, err
		}
		s.Endpoint = "console (" + where + ")"
		s.Exporter, err = console.NewSpanExporter(w)
		if err != nil {
			_ = closeFile()
			return s, nil, fmt.Errorf("lens: console exporter: %w", err)
		}
		return s, closeFile, nil
	case name == exporterOTLP:
		resolved, more, err := otelenv.ParseOTLP(otelenv.Traces, env)
		warn(more)
		if err != nil {
			return s, nil, err
		}
		s.Endpoint = otlp.Describe(resolved)
		s.Exporter, err = otlp.NewTraceExporter(ctx, resolved)
		if err != nil {
			return s, nil, err
		}
	default:
		s.Endpoint = exporterNone
	}
	return s, nil, nil
}

func (o *options) consoleOutput(cfg Config) (w io.Writer, closeFile func() error, where string, err error) {
	none := func() error { return nil }
	switch {
	case o.consoleWriter != nil:
		return o.consoleWriter, none, "the program's writer", nil
	case cfg.ExporterFile == "":
		return os.Stdout, none, "standard output", nil
	}
	f, err := os.OpenFile(cfg.ExporterFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, none, "", fmt.Errorf("lens: exporter_file%s: %w; name a file that can be written", cfg.from("EXPORTER_FILE"), err)
	}
	return f, f.Close, cfg.ExporterFile, nil
}

// resource puts the attributes together; of two with one key the later wins:
// the environment, then lens's own, then the program's, then what was detected.
func (o *options) resource(cfg Config, runID string, inherited, detected []attribute.KeyValue) *resource.Resource {
	attrs := append([]attribute.KeyValue(nil), resource.Default().Attributes()...)
	attrs = append(attrs, inherited...)
	attrs = append(attrs,
		attribute.String("service.name", cfg.ServiceName), attribute.String("service.version", Version),
		attribute.Int("dl.rank", o.rank), attribute.Int("dl.world_size", o.worldSize))
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

// first returns the first value that is not zero.
func first[T comparable](values ...T) (v T) {
	for _, v = range values {
		var zero T
		if v != zero {
			return v
		}
	}
	return v
}
