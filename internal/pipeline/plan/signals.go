package plan

import (
	"cmp"
	"context"
	"fmt"
	"io"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/export/console"
	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/export/otlpfile"
	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/strategy/sampler"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe"
	"github.com/nemo-lens/lens/internal/pipeline/metricpipe"
	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/settings"
)

func (p *Plan) planTraces(ctx context.Context, res *resource.Resource) error {
	var exporter string
	if p.SpanExporter == nil {
		exporter = p.exporter(settings.Traces)
		if p.hasNoDestination(settings.Traces, exporter) && len(p.Processors) == 0 {
			return nil
		}
	}
	s := &pipeline.TraceSettings{
		Log: p.Log, Resource: res, IDs: p.ids(), Scoped: p.Scoped, Processors: p.Processors,
	}
	chosen, warnings := settings.ParseSampler(p.Env)
	s.Sampler = chosen.SDK()
	if p.SamplerEnabled {
		s.Sampler = sampler.NewSampler(p.Rank, p.SampleRate, s.Sampler)
	}
	limits, more := settings.ParseSpanLimits(p.Env)
	s.Limits, warnings = limits, append(warnings, more...)
	sizes, more := settings.ParseBatch(p.Env)
	p.warn(append(warnings, more...))
	s.Batch = queue.Config{
		QueueSize: cmp.Or(p.QueueSize, sizes.MaxQueueSize), BatchSize: cmp.Or(p.BatchSize, sizes.MaxExportBatchSize),
		Delay: cmp.Or(p.BatchDelay, sizes.ScheduleDelay), ExportTimeout: sizes.ExportTimeout,
		MaxWait: p.QueueWait, Block: p.Block,
	}
	p.traces = s
	if p.SpanExporter != nil {
		s.Exporter, s.Endpoint = p.guardedViews(p.SpanExporter), fmt.Sprintf("the application's %T", p.SpanExporter)
		s.ExporterName = fmt.Sprintf("the span exporter %T", p.SpanExporter)
		p.destinations[settings.Traces] = s.Endpoint
		return nil
	}
	if p.off[settings.Traces] != "" {
		p.destinations[settings.Traces] = "the application's processors"
		return nil
	}
	var err error
	s.ExporterName = "the " + exporter + " exporter of spans"
	s.Exporter, s.Endpoint, err = exporterFor(p, settings.Traces, exporter, builders[pipeline.SpanExporter]{
		console: func(w io.Writer) (pipeline.SpanExporter, error) {
			e, err := console.NewSpanExporter(w)
			return p.guardedViews(e), err
		},
		otlp: func(o settings.OTLP) (pipeline.SpanExporter, error) { return otlp.NewTraceExporter(ctx, o, p.Log) },
		file: func(w io.Writer) pipeline.SpanExporter { return pipeline.Views(otlpfile.NewSpanExporter(w, p.Log)) },
	})
	return err
}

// guardedViews is for exporters that have no defences of their own.
func (p *Plan) guardedViews(e sdktrace.SpanExporter) pipeline.SpanExporter {
	return pipeline.Views(guard.New(e, guard.Options{Log: p.Log}))
}

// ids makes one trace of the whole job when that is asked for and the job can
// be told.
func (p *Plan) ids() sdktrace.IDGenerator {
	if p.SingleTraceID {
		// RunID is empty where the id was drawn here, which nobody else knows.
		seed, ok := identity.TraceSeed(p.SharedRunID, p.Env)
		if ok {
			return identity.FixedTraceID(identity.TraceID(seed))
		}
		p.Log.Warn("single trace id", "one trace id for the job was asked for, but there is neither a SLURM job nor a RUN_ID to derive it from; trace ids are random")
	}
	return nil // the recorder's own
}

func (p *Plan) planMetrics(ctx context.Context, res *resource.Resource) error {
	exporter := p.exporter(settings.Metrics)
	noDestination := p.hasNoDestination(settings.Metrics, exporter)
	if noDestination && len(p.Readers) == 0 {
		return nil
	}
	s := &metricpipe.Settings{Log: p.Log, Resource: res, Readers: p.Readers}
	interval, warnings := settings.MetricInterval(p.Env)
	timeout, more := settings.MetricTimeout(p.Env)
	warnings = append(warnings, more...)
	temporality, more := settings.TemporalityPreference(p.Env)
	warnings = append(warnings, more...)
	aggregation, more := settings.HistogramAggregation(p.Env)
	p.warn(append(warnings, more...))
	s.Interval, s.Timeout = interval, timeout
	p.metrics = s
	if noDestination {
		p.destinations[settings.Metrics] = "the application's readers"
		return nil
	}
	var err error
	s.Exporter, s.Endpoint, err = exporterFor(p, settings.Metrics, exporter, builders[sdkmetric.Exporter]{
		console: func(w io.Writer) (sdkmetric.Exporter, error) { return console.NewMetricExporter(w) },
		otlp: func(o settings.OTLP) (sdkmetric.Exporter, error) {
			return otlp.NewMetricExporter(ctx, o, temporality.Selector(), aggregation, p.Log)
		},
		file: func(w io.Writer) sdkmetric.Exporter {
			return otlpfile.NewMetricExporter(w, temporality.Selector(), aggregation, p.Log)
		},
	})
	return err
}

func (p *Plan) planLogs(ctx context.Context, res *resource.Resource) error {
	exporter := p.exporter(settings.Logs)
	if p.hasNoDestination(settings.Logs, exporter) {
		return nil
	}
	sizes, warnings := settings.ParseLogBatch(p.Env)
	p.warn(warnings)
	s := &logpipe.Settings{Log: p.Log, Resource: res, Batch: queue.Config{
		QueueSize: sizes.MaxQueueSize, BatchSize: sizes.MaxExportBatchSize,
		Delay: sizes.ScheduleDelay, ExportTimeout: sizes.ExportTimeout, Block: p.Block,
	}}
	p.logs = s
	var err error
	s.Exporter, s.Endpoint, err = exporterFor(p, settings.Logs, exporter, builders[sdklog.Exporter]{
		console: console.NewLogExporter,
		otlp:    func(o settings.OTLP) (sdklog.Exporter, error) { return otlp.NewLogExporter(ctx, o, p.Log) },
		file:    func(w io.Writer) sdklog.Exporter { return otlpfile.NewLogExporter(w, p.Log) },
	})
	return err
}
