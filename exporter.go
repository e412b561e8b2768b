//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/batch"
	"github.com/nemo-lens/lens/internal/console"
	"github.com/nemo-lens/lens/internal/detect"
	"github.com/nemo-lens/lens/internal/guard"
	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/logpipe"
	"github.com/nemo-lens/lens/internal/metricpipe"
	"github.com/nemo-lens/lens/internal/otelenv"
	"github.com/nemo-lens/lens/internal/otlp"
	"github.com/nemo-lens/lens/internal/otlpfile"
	"github.com/nemo-lens/lens/internal/provider"
	"github.com/nemo-lens/lens/internal/strategy/sampler"
	"github.com/nemo-lens/lens/internal/wholeline"
)

// plan is everything that a pipeline is built from. Making it starts no
// goroutine; what it opened is closed again when it cannot be finished.
type plan struct {
	traces  *provider.Settings // each is nil when its signal is off
	metrics *metricpipe.Settings
	logs    *logpipe.Settings

	o      *options
	cfg    Config
	runID  string
	env    otelenv.Lookup
	output *wholeline.Writer // of the console exporters, opened at the first need
	where  string
	lines  *otlpfile.File // of the file exporters, the same way
	opened []func() error // to be closed in the reverse order

	lastErrors lastErrors
	places     []place // of the signals that have an exporter, spans first
}

func (o *options) plan(ctx context.Context, cfg Config, runID string) (_ *plan, err error) {
	p := &plan{o: o, cfg: cfg, runID: runID, env: os.LookupEnv, lastErrors: lastErrors{}}
	defer func() {
		if err != nil {
			_ = p.close()
		}
	}()
	inherited, warnings := otelenv.ResourceAttributes(p.env)
	warn(warnings)
	detected, detectWarnings := detect.Detect(o.detection.options())
	for _, w := range detectWarnings {
		log().Warn(string(w), string(w))
	}
	res := o.resource(cfg, runID, inherited, detected)
	if cfg.TracesEnabled {
		if err := p.planTraces(ctx, res); err != nil {
			return nil, err
		}
	}
	if cfg.MetricsEnabled {
		if err := p.planMetrics(ctx, res); err != nil {
			return nil, err
		}
	}
	if cfg.LogsEnabled {
		if err := p.planLogs(ctx, res); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// close closes what the exporters were given to write to.
func (p *plan) close() error {
	var errs []error
	for i := len(p.opened) - 1; i >= 0; i-- {
		errs = append(errs, p.opened[i]())
	}
	p.opened = nil
	return errors.Join(errs...)
}

// place says where a signal goes.
type place struct {
	signal   otelenv.Signal
	endpoint string
}

// endpoint describes where the signals go, once when they go to one place.
func (p *plan) endpoint() string {
	var text string
	for i, at := range p.places {
		switch {
		case i == 0:
			text = at.endpoint
		case at.endpoint != p.places[0].endpoint:
			text += ", " + string(at.signal) + " to " + at.endpoint
		}
	}
	return text
}

func (p *plan) planTraces(ctx context.Context, res *resource.Resource) error {
	s := &provider.Settings{
		Log: log(), Resource: res, IDs: p.ids(),
		Own: []SpanProcessor{scopedAttributes{}}, Processors: p.o.processors,
	}
	chosen, warnings := otelenv.ParseSampler(p.env)
	s.Sampler = chosen.SDK()
	if p.cfg.SamplerEnabled {
		s.Sampler = sampler.NewSampler(p.o.rank, p.cfg.ExportSampleRate, s.Sampler)
	}
	limits, more := otelenv.ParseSpanLimits(p.env)
	s.Limits, warnings = limits, append(warnings, more...)
	queue, more := otelenv.ParseBatch(p.env)
	warn(append(warnings, more...))
	s.Batch = batch.Config{
		QueueSize: first(p.cfg.QueueSize, queue.MaxQueueSize), BatchSize: first(p.cfg.BatchSize, queue.MaxExportBatchSize),
		Delay: first(p.cfg.BatchDelay, queue.ScheduleDelay), ExportTimeout: queue.ExportTimeout,
		MaxWait: p.cfg.QueueWait, Block: p.cfg.BlockOnFullQueue,
	}
	p.traces = s
	if p.o.exporter != nil {
		s.Exporter, s.Endpoint = guard.New(p.o.exporter, guard.Options{Log: log()}), fmt.Sprintf("the program's %T", p.o.exporter)
		p.places = append(p.places, place{otelenv.Traces, s.Endpoint})
		return nil
	}
	var err error
	s.Exporter, s.Endpoint, err = exporterFor(p, otelenv.Traces, builders[sdktrace.SpanExporter]{
		console: func(w io.Writer) (sdktrace.SpanExporter, error) {
			e, err := console.NewSpanExporter(w)
			return guard.New(e, guard.Options{Log: log()}), err
		},
		otlp: func(o otelenv.OTLP) (sdktrace.SpanExporter, error) { return otlp.NewTraceExporter(ctx, o, log()) },
		file: otlpfile.NewSpanExporter,
	})
	return err
}

func (d Detection) options() detect.Options {
	options := detect.Options{
		GPUIdentity: d.GPUIdentity, NvidiaSMI: d.NvidiaSMI, NvidiaSMITimeout: d.NvidiaSMITimeout,
		ExactGPUCount: d.ExactGPUCount, ProcessStart: d.ProcessStart,
	}
	if d.SlurmNewer {
		options.Slurm = detect.SlurmNewer
	}
	return options
}

// ids makes one trace of the whole job when that is asked for and the job can
// be told.
func (p *plan) ids() sdktrace.IDGenerator {
	if p.cfg.SingleTraceID {
		// A run id that was drawn here is known to nobody else.
		seed, ok := identity.TraceSeed(p.cfg.RunID, p.env)
		if ok {
			return identity.NewFixedIDGenerator(identity.TraceID(seed))
		}
		log().Warn("single trace id", "one trace id for the job was asked for, but there is neither a SLURM job nor a RUN_ID to derive it from; trace ids are random")
	}
	return identity.NewIDGenerator()
}

func (p *plan) planMetrics(ctx context.Context, res *resource.Resource) error {
	s := &metricpipe.Settings{Log: log(), Resource: res, Readers: p.o.readers}
	interval, warnings := otelenv.MetricInterval(p.env)
	timeout, more := otelenv.MetricTimeout(p.env)
	warnings = append(warnings, more...)
	temporality, more := otelenv.TemporalityPreference(p.env)
	warnings = append(warnings, more...)
	aggregation, more := otelenv.HistogramAggregation(p.env)
	warn(append(warnings, more...))
	s.Interval, s.Timeout = interval, timeout
	p.metrics = s
	if p.ownPlaceForSpans(otelenv.Metrics) {
		return nil
	}
	var err error
	s.Exporter, s.Endpoint, err = exporterFor(p, otelenv.Metrics, builders[sdkmetric.Exporter]{
		console: func(w io.Writer) (sdkmetric.Exporter, error) { return console.NewMetricExporter(w) },
		otlp: func(o otelenv.OTLP) (sdkmetric.Exporter, error) {
			return otlp.NewMetricExporter(ctx, o, temporality.Selector(), aggregation)
		},
		file: func(w io.Writer) sdkmetric.Exporter {
			return otlpfile.NewMetricExporter(w, temporality.Selector(), aggregation)
		},
	})
	return err
}

func (p *plan) planLogs(ctx context.Context, res *resource.Resource) error {
	queue, warnings := otelenv.ParseLogBatch(p.env)
	warn(warnings)
	s := &logpipe.Settings{Log: log(), Resource: res, Batch: logpipe.Config{
		QueueSize: queue.MaxQueueSize, BatchSize: queue.MaxExportBatchSize,
		Delay: queue.ScheduleDelay, ExportTimeout: queue.ExportTimeout, Block: p.cfg.BlockOnFullQueue,
	}}
	p.logs = s
	if p.ownPlaceForSpans(otelenv.Logs) {
		return nil
	}
	var err error
	s.Exporter, s.Endpoint, err = exporterFor(p, otelenv.Logs, builders[sdklog.Exporter]{
		console: console.NewLogExporter,
		otlp:    func(o otelenv.OTLP) (sdklog.Exporter, error) { return otlp.NewLogExporter(ctx, o) },
		file:    otlpfile.NewLogExporter,
	})
	return err
}

// ownPlaceForSpans reports whether a signal has nowhere to go because the
// program takes the spans itself and nobody has named a place for the signal:
// a test with an exporter in memory must not call a collector.
func (p *plan) ownPlaceForSpans(signal otelenv.Signal) bool {
	if p.o.exporter == nil || p.cfg.Exporter != exporterOTLP || p.cfg.sources["EXPORTER"] != "" || p.cfg.Endpoint != "" {
		return false
	}
	named, _ := otelenv.ParseExporter(signal, p.env)
	for _, variable := range signal.EndpointVariables() {
		if text, _ := p.env(variable); text != "" {
			return false
		}
	}
	return named == ""
}

type builders[E any] struct {
	console func(io.Writer) (E, error)
	otlp    func(otelenv.OTLP) (E, error)
	file    func(io.Writer) E
}

// exporterName is which exporter a signal has.
func (p *plan) exporterName(signal otelenv.Signal) string {
	name := p.cfg.Exporter
	if p.cfg.sources["EXPORTER"] == "" && name == exporterOTLP {
		fromOTel, warnings := otelenv.ParseExporter(signal, p.env)
		warn(warnings)
		name = first(fromOTel, name)
	}
	return name
}

// exporterFor builds the exporter of one signal; it is nil for "none".
func exporterFor[E any](p *plan, signal otelenv.Signal, build builders[E]) (exporter E, endpoint string, err error) {
	defer func() { p.places = append(p.places, place{signal, endpoint}) }()
	switch p.exporterName(signal) {
	case exporterConsole:
		w, where, err := p.console()
		if err != nil {
			return exporter, "", err
		}
		exporter, err = build.console(w)
		if err != nil {
			return exporter, "", fmt.Errorf("lens: console exporter of %s: %w", signal, err)
		}
		return exporter, "console (" + where + ")", nil
	case exporterFile:
		w, where, err := p.file()
		if err != nil {
			return exporter, "", err
		}
		return build.file(w), where, nil
	case exporterOTLP:
		resolved, err := p.otlp(signal)
		if err != nil {
			return exporter, "", err
		}
		exporter, err = build.otlp(resolved)
		if e, ok := any(exporter).(interface{ LastError() error }); ok && err == nil {
			p.lastErrors[signal] = e.LastError
		}
		return exporter, otlp.Describe(resolved), err
	}
	return exporter, exporterNone, nil
}

// otlp resolves where a signal goes. An endpoint of lens's own stands alone: the
// standard variables of another product have no part in the export then, and its
// keys are not sent there.
func (p *plan) otlp(signal otelenv.Signal) (otelenv.OTLP, error) {
	resolved, warnings, err := otelenv.ParseOTLP(signal, p.cfg.otlp(signal), p.env)
	warn(warnings)
	return resolved, err
}

// otlp is what c says about the export of a signal over OTLP.
func (c Config) otlp(signal otelenv.Signal) otelenv.Own {
	insecure := ""
	if c.Insecure != nil {
		insecure = strconv.FormatBool(*c.Insecure)
	}
	own := otelenv.Own{}
	for _, s := range []struct{ key, field, text string }{
		{"ENDPOINT", "Endpoint", c.Endpoint}, {"PROTOCOL", "Protocol", c.Protocol}, {"HEADERS", "Headers", c.Headers},
		{"INSECURE", "Insecure", insecure}, {"CERTIFICATE", "Certificate", c.Certificate},
		{"CLIENT_CERTIFICATE", "ClientCertificate", c.ClientCertificate}, {"CLIENT_KEY", "ClientKey", c.ClientKey},
	} {
		own[s.key] = otelenv.Setting{Name: c.variable(s.key, s.field, s.text != ""), Text: s.text}
	}
	off := map[otelenv.Signal]string{
		otelenv.Traces:  c.variable("TRACES_ENABLED", "TracesEnabled", false),
		otelenv.Metrics: c.variable("METRICS_ENABLED", "MetricsEnabled", false),
		otelenv.Logs:    c.variable("LOGS_ENABLED", "LogsEnabled", false),
	}
	own["OFF"] = otelenv.Setting{Name: off[signal] + " to false"}
	return own
}

// variable names a setting for a message that asks to change it: the variable that
// it came from, else the one that would give it, and the field when the program set
// it in code or reads no environment.
func (c Config) variable(key, field string, set bool) string {
	switch {
	case c.sources[key] != "":
		return c.sources[key]
	case set || len(c.prefixes) == 0:
		return "Config." + field
	}
	return c.prefixes[0] + "_" + key
}

// console opens what the console exporters write to, one for all signals.
func (p *plan) console() (io.Writer, string, error) {
	if p.output != nil {
		return p.output, p.where, nil
	}
	switch {
	case p.o.consoleWriter != nil:
		p.output, p.where = wholeline.New(p.o.consoleWriter), "the program's writer"
	case p.cfg.ExporterFile == "":
		p.output, p.where = wholeline.New(os.Stdout), "standard output"
	default:
		f, err := os.OpenFile(p.fileName(), os.O_APPEND|os.O_CREATE|os.O_WRONLY|openFlags, 0o644)
		if err != nil {
			return nil, "", p.badFile(err)
		}
		p.opened = append(p.opened, f.Close)
		p.output, p.where = wholeline.New(f), p.fileName()
	}
	return p.output, p.where, nil
}

// file opens what the file exporters write to, one for all signals.
func (p *plan) file() (io.Writer, string, error) {
	if p.lines == nil {
		f, err := otlpfile.Open(p.fileName(), p.cfg.ExporterFileSize, first(p.cfg.ExporterFileKeep, defaultFileKeep), openFlags)
		if err != nil {
			return nil, "", p.badFile(err)
		}
		p.opened = append(p.opened, f.Close)
		p.lines = f
	}
	return p.lines, "file (" + p.fileName() + ")", nil
}

func (p *plan) fileName() string {
	return otlpfile.Name(first(p.cfg.ExporterFile, otlpfile.DefaultName), p.runID, p.o.rank, os.Getpid())
}

func (p *plan) badFile(err error) error {
	return fmt.Errorf("lens: exporter_file%s: %w; name a file that can be written", p.cfg.from("EXPORTER_FILE"), err)
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
