//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/export/console"
	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/export/otlpfile"
	"github.com/nemo-lens/lens/internal/export/wholeline"
	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/detect"
	"github.com/nemo-lens/lens/internal/identity/strategy/sampler"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe"
	"github.com/nemo-lens/lens/internal/pipeline/metricpipe"
	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/settings"
)

// plan is everything that a pipeline is built from. Making it starts no
// goroutine; what it opened is closed again when it cannot be finished.
type plan struct {
	traces  *pipeline.TraceSettings // each is nil when its signal is off
	metrics *metricpipe.Settings
	logs    *logpipe.Settings

	o      *options
	cfg    Config
	runID  string
	env    settings.Lookup
	output *wholeline.Writer // of the console exporters, opened at the first need
	where  string
	lines  *otlpfile.File // of the file exporters, the same way
	opened []func() error // to be closed in the reverse order

	lastErrors   pipeline.LastErrors
	destinations map[settings.Signal]string // of the signals that are exported
	off          map[settings.Signal]string // why one that the configuration switches on is off
}

func newPlan(o *options, cfg Config, runID string) *plan {
	return &plan{o: o, cfg: cfg, runID: runID, env: os.LookupEnv, lastErrors: pipeline.LastErrors{},
		destinations: map[settings.Signal]string{}, off: map[settings.Signal]string{}}
}

func (o *options) plan(ctx context.Context, cfg Config, runID string) (_ *plan, err error) {
	p := newPlan(o, cfg, runID)
	defer func() {
		if err != nil {
			_ = p.close()
		}
	}()
	inherited, warnings := settings.ResourceAttributes(p.env)
	warn(warnings)
	detected, detectWarnings := detect.Detect(o.detection.options())
	warn(detectWarnings)
	// Clean, also for the processors and readers of the application.
	res := guard.CleanResource(o.resource(cfg, runID, inherited, detected))
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

// build starts what was planned. It cannot fail.
func (p *plan) build() *pipeline.Pipeline {
	return pipeline.New(pipeline.Plan{
		Traces: p.traces, Metrics: p.metrics, Logs: p.logs, LastErrors: p.lastErrors,
		Groups: func() int { return EnabledSpanGroups().Len() }, Log: log(),
	})
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

// hasSignals reports whether any signal is on.
func (p *plan) hasSignals() bool { return p.traces != nil || p.metrics != nil || p.logs != nil }

// endpoint describes where the signals go, once when they go to one place.
func (p *plan) endpoint() string {
	var text, one string
	for _, signal := range settings.Signals {
		switch to := p.destinations[signal]; {
		case to == "" || to == one:
		case text == "":
			text, one = to, to
		default:
			text += ", " + string(signal) + " to " + to
		}
	}
	return text
}

// report says of each signal where it goes, or that it is off and why.
func (p *plan) report() (attrs []any) {
	for _, signal := range settings.Signals {
		text := "off"
		if why := p.off[signal]; why != "" {
			text = "off: " + why
		}
		if to := p.destinations[signal]; to != "" {
			text = to
		}
		attrs = append(attrs, string(signal), text)
	}
	return attrs
}

// exporter returns the exporter of a signal by name.
func (p *plan) exporter(signal settings.Signal) string {
	if p.cfg.sources["EXPORTER"] != "" || p.cfg.Exporter != exporterOTLP {
		return p.cfg.Exporter
	}
	name, warnings := settings.ParseExporter(signal, p.env)
	warn(warnings)
	return first(name, p.cfg.Exporter)
}

// hasNoDestination reports whether nobody has said where the signal goes although
// somebody has for another one: a receiver of spans alone must not make a second one
// necessary at the default endpoint, nor a test that keeps its spans in memory. When
// nothing is configured, all signals go to the default endpoint.
func (p *plan) hasNoDestination(signal settings.Signal, exporter string) bool {
	if exporter != exporterOTLP || p.cfg.Endpoint != "" {
		return false
	}
	if name, _ := settings.EndpointVariable(signal, p.env); name != "" {
		return false
	}
	if name, _ := settings.ParseExporter(signal, p.env); name != "" && p.cfg.sources["EXPORTER"] == "" {
		return false
	}
	said := ""
	if p.o.exporter != nil && p.cfg.sources["EXPORTER"] == "" {
		said = "WithSpanExporter takes the spans only"
	}
	for _, other := range settings.Signals {
		if name, alone := settings.EndpointVariable(other, p.env); alone {
			said = name + " is for " + string(other) + " only"
			break
		}
	}
	if said == "" {
		return false
	}
	own := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(string(signal)) + "_ENDPOINT"
	p.off[signal] = "no destination, as " + said + "; " + own + " or OTEL_EXPORTER_OTLP_ENDPOINT gives one"
	return true
}

func (p *plan) planTraces(ctx context.Context, res *resource.Resource) error {
	var exporter string
	if p.o.exporter == nil {
		exporter = p.exporter(settings.Traces)
		if p.hasNoDestination(settings.Traces, exporter) && len(p.o.processors) == 0 {
			return nil
		}
	}
	s := &pipeline.TraceSettings{
		Log: log(), Resource: res, IDs: p.ids(), Scoped: scopedAttributes, Processors: p.o.processors,
	}
	chosen, warnings := settings.ParseSampler(p.env)
	s.Sampler = chosen.SDK()
	if p.cfg.SamplerEnabled {
		s.Sampler = sampler.NewSampler(p.o.rank, p.cfg.ExportSampleRate, s.Sampler)
	}
	limits, more := settings.ParseSpanLimits(p.env)
	s.Limits, warnings = limits, append(warnings, more...)
	sizes, more := settings.ParseBatch(p.env)
	warn(append(warnings, more...))
	s.Batch = queue.Config{
		QueueSize: first(p.cfg.QueueSize, sizes.MaxQueueSize), BatchSize: first(p.cfg.BatchSize, sizes.MaxExportBatchSize),
		Delay: first(p.cfg.BatchDelay, sizes.ScheduleDelay), ExportTimeout: sizes.ExportTimeout,
		MaxWait: p.cfg.QueueWait, Block: p.cfg.BlockOnFullQueue,
	}
	p.traces = s
	if p.o.exporter != nil {
		s.Exporter, s.Endpoint = guardedViews(p.o.exporter), fmt.Sprintf("the program's %T", p.o.exporter)
		s.ExporterName = fmt.Sprintf("the span exporter %T", p.o.exporter)
		p.destinations[settings.Traces] = s.Endpoint
		return nil
	}
	if p.off[settings.Traces] != "" {
		p.destinations[settings.Traces] = "the program's processors"
		return nil
	}
	var err error
	s.ExporterName = "the " + exporter + " exporter of spans"
	s.Exporter, s.Endpoint, err = exporterFor(p, settings.Traces, exporter, builders[pipeline.SpanExporter]{
		console: func(w io.Writer) (pipeline.SpanExporter, error) {
			e, err := console.NewSpanExporter(w)
			return guardedViews(e), err
		},
		otlp: func(o settings.OTLP) (pipeline.SpanExporter, error) { return otlp.NewTraceExporter(ctx, o, log()) },
		file: func(w io.Writer) pipeline.SpanExporter { return pipeline.Views(otlpfile.NewSpanExporter(w, log())) },
	})
	return err
}

// guardedViews is for exporters that have no defences of their own.
func guardedViews(e SpanExporter) pipeline.SpanExporter {
	return pipeline.Views(guard.New(e, guard.Options{Log: log()}))
}

func (d Detection) options() detect.Options {
	options := detect.Options{
		GPUIdentity: d.GPUIdentity, NvidiaSMI: d.NvidiaSMI, NvidiaSMITimeout: d.NvidiaSMITimeout,
		ProcessStart: d.ProcessStart,
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
		// RunID is empty where the id was drawn here, which nobody else knows.
		seed, ok := identity.TraceSeed(p.cfg.RunID, p.env)
		if ok {
			return identity.FixedTraceID(identity.TraceID(seed))
		}
		log().Warn("single trace id", "one trace id for the job was asked for, but there is neither a SLURM job nor a RUN_ID to derive it from; trace ids are random")
	}
	return nil // the recorder's own
}

func (p *plan) planMetrics(ctx context.Context, res *resource.Resource) error {
	exporter := p.exporter(settings.Metrics)
	noDestination := p.hasNoDestination(settings.Metrics, exporter)
	if noDestination && len(p.o.readers) == 0 {
		return nil
	}
	s := &metricpipe.Settings{Log: log(), Resource: res, Readers: p.o.readers}
	interval, warnings := settings.MetricInterval(p.env)
	timeout, more := settings.MetricTimeout(p.env)
	warnings = append(warnings, more...)
	temporality, more := settings.TemporalityPreference(p.env)
	warnings = append(warnings, more...)
	aggregation, more := settings.HistogramAggregation(p.env)
	warn(append(warnings, more...))
	s.Interval, s.Timeout = interval, timeout
	p.metrics = s
	if noDestination {
		p.destinations[settings.Metrics] = "the program's readers"
		return nil
	}
	var err error
	s.Exporter, s.Endpoint, err = exporterFor(p, settings.Metrics, exporter, builders[sdkmetric.Exporter]{
		console: func(w io.Writer) (sdkmetric.Exporter, error) { return console.NewMetricExporter(w) },
		otlp: func(o settings.OTLP) (sdkmetric.Exporter, error) {
			return otlp.NewMetricExporter(ctx, o, temporality.Selector(), aggregation, log())
		},
		file: func(w io.Writer) sdkmetric.Exporter {
			return otlpfile.NewMetricExporter(w, temporality.Selector(), aggregation, log())
		},
	})
	return err
}

func (p *plan) planLogs(ctx context.Context, res *resource.Resource) error {
	exporter := p.exporter(settings.Logs)
	if p.hasNoDestination(settings.Logs, exporter) {
		return nil
	}
	sizes, warnings := settings.ParseLogBatch(p.env)
	warn(warnings)
	s := &logpipe.Settings{Log: log(), Resource: res, Batch: queue.Config{
		QueueSize: sizes.MaxQueueSize, BatchSize: sizes.MaxExportBatchSize,
		Delay: sizes.ScheduleDelay, ExportTimeout: sizes.ExportTimeout, Block: p.cfg.BlockOnFullQueue,
	}}
	p.logs = s
	var err error
	s.Exporter, s.Endpoint, err = exporterFor(p, settings.Logs, exporter, builders[sdklog.Exporter]{
		console: console.NewLogExporter,
		otlp:    func(o settings.OTLP) (sdklog.Exporter, error) { return otlp.NewLogExporter(ctx, o, log()) },
		file:    func(w io.Writer) sdklog.Exporter { return otlpfile.NewLogExporter(w, log()) },
	})
	return err
}

type builders[E any] struct {
	console func(io.Writer) (E, error)
	otlp    func(settings.OTLP) (E, error)
	file    func(io.Writer) E
}

// exporterFor builds the exporter of one signal; it is nil for "none".
func exporterFor[E any](p *plan, signal settings.Signal, name string, build builders[E]) (exporter E, endpoint string, err error) {
	defer func() { p.destinations[signal] = endpoint }()
	switch name {
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
func (p *plan) otlp(signal settings.Signal) (settings.OTLP, error) {
	resolved, warnings, err := settings.ParseOTLP(signal, p.cfg.otlp(signal), p.env)
	warn(warnings)
	return resolved, err
}

// otlp is what c says about the export of a signal over OTLP.
func (c Config) otlp(signal settings.Signal) settings.Own {
	insecure := ""
	if c.Insecure != nil {
		insecure = strconv.FormatBool(*c.Insecure)
	}
	own := settings.Own{}
	for _, s := range []struct{ key, field, text string }{
		{"ENDPOINT", "Endpoint", c.Endpoint}, {"PROTOCOL", "Protocol", c.Protocol}, {"HEADERS", "Headers", c.Headers},
		{"INSECURE", "Insecure", insecure}, {"CERTIFICATE", "Certificate", c.Certificate},
		{"CLIENT_CERTIFICATE", "ClientCertificate", c.ClientCertificate}, {"CLIENT_KEY", "ClientKey", c.ClientKey},
	} {
		own[s.key] = settings.Setting{Name: c.variable(s.key, s.field, s.text != ""), Text: s.text}
	}
	off := map[settings.Signal]string{
		settings.Traces:  c.variable("TRACES_ENABLED", "TracesEnabled", false),
		settings.Metrics: c.variable("METRICS_ENABLED", "MetricsEnabled", false),
		settings.Logs:    c.variable("LOGS_ENABLED", "LogsEnabled", false),
	}
	own["OFF"] = settings.Setting{Name: off[signal] + " to false"}
	return own
}

// variable names a setting for a message that asks to change it: the variable that
// it came from, else the one that would give it, and the field when the application set
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
