//go:build !lens_noop

package lens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/detect"
	"github.com/nemo-lens/lens/internal/identity/rankenv"
	"github.com/nemo-lens/lens/internal/identity/strategy"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/pipeline/plan"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
	"github.com/nemo-lens/lens/internal/settings/envtext"
)

// SpanExporter, SpanProcessor and MetricReader are the SDK's types. In a build with the tag
// lens_noop they are any, so that callers compile in both.
type (
	SpanExporter  = sdktrace.SpanExporter
	SpanProcessor = sdktrace.SpanProcessor
	MetricReader  = sdkmetric.Reader
)

// ErrAlreadySetUp is returned by SetupTelemetry while an earlier enabled
// set-up has not been shut down.
var ErrAlreadySetUp = errors.New("lens: telemetry is already set up in this process; " +
	"set it up once, or shut the first handle down before (WithAllowReinit is for tests)")

// Option changes how SetupTelemetry works.
type Option func(*options)

type options struct {
	rank, worldSize int
	rankGiven       bool
	rankFromEnv     bool
	attrs           []attribute.KeyValue
	exporter        SpanExporter
	processors      []SpanProcessor
	readers         []MetricReader
	strategy        ExportStrategy
	logger          *slog.Logger
	consoleWriter   io.Writer
	detection       Detection
	strict          bool
	timeout         time.Duration
	allowReinit     bool
	global          *bool
}

// WithRank says which process of the job this is: 0 <= rank < worldSize. It
// overrides what the launcher left in the environment, which is read without
// it: torchrun's variables, SLURM's, those of Open MPI, PMI, PMIx, Kubernetes
// indexed jobs, and OTEL_RESOURCE_ATTRIBUTES, in this order, and of two launchers
// inside each other the inner one. When nothing is found the process is rank 0
// of 1; what cannot be right is logged as a warning and leaves it so.
func WithRank(rank, worldSize int) Option {
	return func(o *options) { o.rank, o.worldSize, o.rankGiven = rank, worldSize, true }
}

// WithRankFromEnv makes the set-up fail where variables of a launcher cannot be
// right, and prefers them to [WithRank], which then is for a process without
// any.
func WithRankFromEnv() Option { return func(o *options) { o.rankFromEnv = true } }

// WithResourceAttributes adds attributes to the resource of every span.
func WithResourceAttributes(attrs ...attribute.KeyValue) Option {
	return func(o *options) { o.attrs = append(o.attrs, attrs...) }
}

// WithSpanExporter exports spans with e instead of what the configuration
// names. Metrics and logs then go nowhere unless the configuration or the
// environment names an exporter or an endpoint for them, or [WithMetricReader]
// takes them.
func WithSpanExporter(e SpanExporter) Option { return func(o *options) { o.exporter = e } }

// WithSpanProcessor adds a processor beside the export; it may be given
// several times.
func WithSpanProcessor(p SpanProcessor) Option {
	return func(o *options) { o.processors = append(o.processors, p) }
}

// WithMetricReader adds a reader of metrics beside the export; it may be given
// several times. It needs Config.MetricsEnabled.
func WithMetricReader(r MetricReader) Option {
	return func(o *options) { o.readers = append(o.readers, r) }
}

// WithExportStrategy decides with s whether this process exports, whatever
// Config.ExportStrategy says.
func WithExportStrategy(s ExportStrategy) Option { return func(o *options) { o.strategy = s } }

// WithLogger sends lens's own messages to l. Without it they are written to
// standard error as text.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// WithConsoleWriter makes the console exporter write to w, one Write a line.
func WithConsoleWriter(w io.Writer) Option { return func(o *options) { o.consoleWriter = w } }

// WithGlobalProvider decides whether the OTel globals become lens's. Without
// it they do, unless the application has installed a tracer provider of its own.
func WithGlobalProvider(install bool) Option { return func(o *options) { o.global = &install } }

// WithStrictRedaction also redacts text under keys whose last dotted part is one
// of [DefaultRedactKeys] in any case, such as "user.Password", until Shutdown.
func WithStrictRedaction() Option { return func(o *options) { o.strict = true } }

// WithShutdownTimeout is Config.ShutdownTimeout in code; it wins when above 0.
func WithShutdownTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithDetection chooses what is found out about the machine beside host,
// process, SLURM, Kubernetes and the number of GPUs.
func WithDetection(d Detection) Option { return func(o *options) { o.detection = d } }

// WithAllowReinit lets a second set-up take the place of the first. It is for
// tests; the first handle has still to be shut down.
func WithAllowReinit() Option { return func(o *options) { o.allowReinit = true } }

var (
	active  atomic.Pointer[pipeline.Pipeline] // of the set-up that exports
	setupMu sync.Mutex
	current atomic.Pointer[TelemetryHandle] // of the enabled set-up; written under setupMu
	logs    atomic.Pointer[report.Log]
)

// log returns the library's own log.
func log() *report.Log {
	if l := logs.Load(); l != nil {
		return l
	}
	logs.CompareAndSwap(nil, report.New(nil))
	return logs.Load()
}

// SetupTelemetry starts telemetry as cfg says. Call it once, early, and defer
// the Shutdown of the handle.
//
// When cfg is disabled, OTEL_SDK_DISABLED is true, or this rank does not
// export, it starts nothing, every group is off, and one line at level Debug
// says why; with [Config].FlightDir a rank that does not export records its spans
// to the file of the flight recorder alone. Otherwise everything is resolved and checked first, so that an
// error leaves nothing behind, and one line at level Info says what is exported
// where.
func SetupTelemetry(ctx context.Context, cfg Config, opts ...Option) (_ *TelemetryHandle, err error) {
	if ctx == nil {
		return nil, errors.New("lens: SetupTelemetry: the context is nil; pass context.Background()")
	}
	o := options{worldSize: 1}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	setupMu.Lock()
	defer setupMu.Unlock()

	runID, runIDSource := identity.RunID(cfg.RunID, os.LookupEnv)
	disabled, sdkWarnings := settings.SDKDisabled(os.LookupEnv)
	if !cfg.Enabled || disabled {
		if current.Load() == nil {
			_ = useGroups(cfg.Groups, "", true)
		}
		if o.logger != nil {
			why := "ENABLED is false"
			if disabled {
				why = "OTEL_SDK_DISABLED is true"
			}
			report.New(o.logger).Debug("lens: telemetry is off", "why", why, "run_id", runID)
		}
		return &TelemetryHandle{runID: runID}, nil
	}
	if current.Load() != nil && !o.allowReinit {
		return nil, ErrAlreadySetUp
	}
	before := logs.Swap(report.New(o.logger))
	defer func() {
		if err != nil {
			logs.Store(before)
		}
	}()
	if o.strategy != nil {
		// An override is not looked up, so the configured name need not exist.
		cfg.ExportStrategy = "all_ranks"
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := o.resolveRank(); err != nil {
		return nil, err
	}
	if runIDSource != identity.RunIDRandom {
		cfg.RunID = runID
	} else if o.worldSize > 1 && o.rank == 0 {
		log().Warn("run id", fmt.Sprintf("the %d processes of the job have random run ids, each its own: set %s, torchrun's --rdzv-id, or "+
			"nemo.run.id in OTEL_RESOURCE_ATTRIBUTES to one id for all of them", o.worldSize, cfg.variableOr("RUN_ID", "Config.RunID")))
	}
	cfg.ServiceName = cfg.effectiveServiceName(os.LookupEnv)
	exports, err := o.exports(cfg)
	if err != nil {
		return nil, err
	}
	warn(sdkWarnings)
	for _, w := range cfg.warnings {
		log().Warn(w, w)
	}
	h := &TelemetryHandle{runID: runID, timeout: cfg.ShutdownTimeout, enabled: true,
		service: cfg.ServiceName, rank: o.rank, worldSize: o.worldSize}
	if o.timeout > 0 {
		h.timeout = o.timeout
	}
	if h.timeout <= 0 {
		h.timeout = DefaultConfig().ShutdownTimeout
	}
	if h.timeout < 50*time.Millisecond {
		log().Warn("shutdown timeout", fmt.Sprintf("the shutdown timeout is %s%s: spans that are queued will hardly be sent in it; a number without a unit is milliseconds",
			h.timeout, cfg.from("SHUTDOWN_TIMEOUT")))
	}
	if !exports || !(cfg.TracesEnabled || cfg.MetricsEnabled || cfg.LogsEnabled) {
		toFile := h.recordToFile(&o, cfg, runID)
		strict.Store(o.strict && toFile)
		_ = useGroups(cfg.Groups, cfg.SpanGroups, !toFile) // Validate has checked it
		current.Store(h)
		log().Debug("lens: telemetry is on, and this process exports nothing", "strategy", cfg.ExportStrategy,
			"run_id", runID, "rank", o.rank, "world_size", o.worldSize)
		return h, nil
	}
	// Before anything of the SDK is made, which reports to the OTel error handler.
	restoreErrors := log().Install()
	p, err := plan.New(ctx, o.planSettings(cfg, runID, cfg.RunID))
	if err != nil {
		restoreErrors()
		return nil, err
	}
	if !p.HasSignals() {
		restoreErrors()
		_ = useGroups(cfg.Groups, cfg.SpanGroups, true)
		current.Store(h)
		log().Warn("no signal", "lens: telemetry is on, and nothing is exported", p.Report()...)
		return h, nil
	}
	// From here on nothing fails.
	if p.RecordsSpans() {
		if h.watching.file = openFlight(&o, cfg, runID); h.watching.file != nil {
			p.Watch(h.watching.file)
		}
	}
	h.pipeline, h.endpoint, h.closeFile = p.Build(), p.Where(), p.Close
	if h.pipeline.Traces != nil {
		h.tracer = h.pipeline.Traces.Own(scopeLens)
	}
	publish(h.pipeline)
	h.watchStalls(&o, cfg)
	installGlobals(o.global, h.pipeline)
	h.restore = restoreErrors
	if cfg.RuntimeMetrics && h.pipeline.Metrics != nil {
		startRuntimeMetrics(h.pipeline.Metrics.Provider)
	}
	strict.Store(o.strict)
	if err := useGroups(cfg.Groups, cfg.SpanGroups, h.pipeline.Traces == nil); err != nil {
		// Validate has resolved the same spec; only a resolver that changes its
		// mind comes here.
		log().Warn("span groups", err.Error())
	}
	current.Store(h)
	log().Info("lens: telemetry is on", append(p.Report(), "service", cfg.ServiceName,
		"run_id", runID, "rank", o.rank, "world_size", o.worldSize, "groups", EnabledSpanGroups().String())...)
	return h, nil
}

// planSettings are the plain values that the export is planned with. sharedRunID is
// empty where the run id was drawn here.
func (o *options) planSettings(cfg Config, runID, sharedRunID string) plan.Settings {
	return plan.Settings{
		Service: cfg.ServiceName, RunID: runID, SharedRunID: sharedRunID, Version: Version, Rank: o.rank, WorldSize: o.worldSize,
		Traces: cfg.TracesEnabled, Metrics: cfg.MetricsEnabled, Logs: cfg.LogsEnabled,
		SamplerEnabled: cfg.SamplerEnabled, SampleRate: cfg.ExportSampleRate, SingleTraceID: cfg.SingleTraceID, RuntimeMetrics: cfg.RuntimeMetrics,
		DLRank: cfg.RankAttributes != rankNVDL, NVDLRank: cfg.RankAttributes == rankNVDL || cfg.RankAttributes == rankBoth,
		User: cfg.User, WandbEntity: cfg.WandbEntity, WandbProject: cfg.WandbProject, Attributes: o.attrs, Detection: o.detection.options(),
		Exporter: cfg.Exporter, ExporterSet: cfg.sources["EXPORTER"] != "", Endpoint: cfg.Endpoint, Own: cfg.otlp,
		File: cfg.ExporterFile, FileSource: cfg.from("EXPORTER_FILE"), FileSize: cfg.ExporterFileSize, FileKeep: cmp.Or(cfg.ExporterFileKeep, defaultFileKeep),
		ConsoleTo: o.consoleWriter, SpanExporter: o.exporter, Processors: o.processors, Readers: o.readers,
		QueueSize: cfg.QueueSize, BatchSize: cfg.BatchSize, BatchDelay: cfg.BatchDelay, QueueWait: cfg.QueueWait, Block: cfg.BlockOnFullQueue,
		Scoped: scopedAttributes, Groups: func() int { return EnabledSpanGroups().Len() }, Log: log(),
	}
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

// effectiveServiceName is the name that the application gave in code, else the
// operator's, else the default. A name in code that is the default cannot be
// told from none.
func (c Config) effectiveServiceName(lookup envtext.Lookup) string {
	if c.ServiceName != "" && (c.ServiceName != defaultServiceName || c.sources[serviceNameVar] != "") {
		return c.ServiceName
	}
	name, _ := identity.ServiceName(lookup)
	return cmp.Or(name, defaultServiceName)
}

// variableOr names the variable that would give a setting, or says what else
// would where the configuration is not read from the environment.
func (c Config) variableOr(key, other string) string {
	if len(c.prefixes) == 0 {
		return other
	}
	return c.prefixes[0] + "_" + key
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

func (o *options) resolveRank() error {
	if o.rankFromEnv || !o.rankGiven {
		id, warnings, err := rankenv.Resolve(os.LookupEnv)
		if err != nil && o.rankFromEnv {
			return err
		}
		warn(warnings)
		if err != nil {
			why := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "\n", "; "), "lens: ", "")
			log().Warn("rank", "the rank of this process cannot be told, so that it counts as rank 0 of 1: "+why)
		}
		if id.Found {
			o.rank, o.worldSize = id.Rank, id.WorldSize
		}
	}
	if o.rank < 0 || o.worldSize < 1 || o.rank >= o.worldSize {
		return fmt.Errorf("lens: rank %d of %d: want 0 <= rank < world size", o.rank, o.worldSize)
	}
	return nil
}

func (o *options) exports(cfg Config) (bool, error) {
	s := o.strategy
	if s == nil {
		s = lookupStrategy(cfg.ExportStrategy)
	}
	if s == nil {
		return false, fmt.Errorf("lens: Unknown export_strategy %q", cfg.ExportStrategy)
	}
	ok, err := s(cfg, o.rank, o.worldSize)
	if err != nil {
		return false, fmt.Errorf("lens: export strategy %q for rank %d of %d: %w", cfg.ExportStrategy, o.rank, o.worldSize, err)
	}
	if o.strategy == nil && nobodyExports(cfg, o.rank, o.worldSize) {
		log().Warn("no rank exports", fmt.Sprintf("no rank exports: strategy %s, EXPORT_RANK %d, EXPORT_SAMPLE_RATE %g, world size %d; "+
			"use a rank below the world size, or -1 for the last, or a higher rate", cfg.ExportStrategy, cfg.ExportRank, cfg.ExportSampleRate, o.worldSize))
	}
	return ok, nil
}

// nobodyExports reports whether a built-in strategy leaves the job without an
// exporter. Only rank 0 looks through all ranks, and only where a rate is so
// small that it can happen.
func nobodyExports(cfg Config, rank, world int) bool {
	switch cfg.ExportStrategy {
	case strategySingle:
		return cfg.ExportRank >= world
	case strategySampled:
		if rank != 0 || cfg.ExportSampleRate*float64(world) > 30 {
			return false
		}
		for r := range world {
			if strategy.Keep(r, cfg.ExportSampleRate) {
				return false
			}
		}
		return true
	}
	return false
}

func warn(ws []envtext.Warning) {
	for _, w := range ws {
		log().Warn(string(w), string(w))
	}
}

// Current returns the handle of the enabled set-up that has not been shut down,
// or nil: for a library that has to know whether the application has set telemetry
// up, and must not shut it down. It takes no lock.
func Current() *TelemetryHandle { return current.Load() }

// TelemetryHandle is a running set-up. Every method is safe on a nil handle
// and for concurrent use.
type TelemetryHandle struct {
	pipeline  *pipeline.Pipeline // nil when nothing is exported
	tracer    *record.Tracer     // nil when no spans are
	enabled   bool
	endpoint  string
	runID     string
	service   string
	rank      int
	worldSize int
	timeout   time.Duration
	restore   func()
	closeFile func() error
	fileOnly  bool // the pipeline ends in the flight recorder
	watching  watching
	closeErr  error // written once, under files
	once      sync.Once
	files     sync.Once
}

// Tracer returns a tracer with the scope "nemo.lens"; it is not gated. Without
// an export, and after Shutdown, its spans record nothing.
func (h *TelemetryHandle) Tracer() trace.Tracer {
	if h == nil || h.pipeline == nil {
		return noop.NewTracerProvider().Tracer(scopeLens)
	}
	return handleTracer{h: h}
}

// IsExporting reports whether this process exports anything: spans, metrics or
// logs.
func (h *TelemetryHandle) IsExporting() bool { return h.isRecording() && !h.fileOnly }

// isRecording reports whether anything is recorded, for export or for the flight
// recorder alone.
func (h *TelemetryHandle) isRecording() bool { return h != nil && h.pipeline != nil }

// RunID returns the id of the run.
func (h *TelemetryHandle) RunID() string {
	if h == nil {
		return ""
	}
	return h.runID
}

// Endpoint returns where spans go, without secrets, for example
// "grpc://127.0.0.1:4317 (plaintext)"; it is empty when nothing is exported.
func (h *TelemetryHandle) Endpoint() string {
	if h == nil {
		return ""
	}
	return h.endpoint
}

// ForceFlush hands over every span that has ended before the call, or returns
// when ctx is done. It returns an error that says how many spans were lost
// since the last report, if any were.
func (h *TelemetryHandle) ForceFlush(ctx context.Context) error {
	if !h.IsExporting() {
		return nil
	}
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	return h.pipeline.ForceFlush(ctx)
}

// Shutdown switches every group off, ends the spans that are still open, hands
// everything over, and gives the OTel globals back. It takes at most
// Config.ShutdownTimeout, less when the deadline of ctx is sooner; it goes on
// when ctx is cancelled. Every caller waits for the same work and gets its
// result: an error that says how many spans were lost, if any were. A caller
// whose own deadline comes sooner is told what would be lost at that moment,
// while the work goes on for the others.
func (h *TelemetryHandle) Shutdown(ctx context.Context) error {
	if h == nil || !h.enabled {
		return nil
	}
	h.once.Do(h.detach)
	if h.pipeline == nil {
		return nil
	}
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	h.watching.stopLooking(ctx)
	err := h.pipeline.Shutdown(ctx)
	log().Flush()
	if ctx.Err() != nil {
		// Something may still be writing to the file, or hang in it.
		return err
	}
	h.files.Do(func() {
		h.watching.close()
		if h.closeFile != nil {
			h.closeErr, _ = outcome.Call(ctx, "closing the file of the console exporter", h.closeFile)
		}
	})
	return errors.Join(err, h.closeErr)
}

// detach closes the gate before anything else, so that nothing records into a
// pipeline that is going away.
func (h *TelemetryHandle) detach() {
	setupMu.Lock()
	defer setupMu.Unlock()
	if current.Load() == h {
		if h.pipeline != nil {
			h.pipeline.GateCloses()
		}
		leaveGroups()
		strict.Store(false)
		current.Store(nil)
	}
	if h.pipeline != nil && active.Load() == h.pipeline {
		publish(nil)
	}
	if active.Load() == nil { // not while a later set-up, see WithAllowReinit, needs them
		globals.Restore()
	}
	if h.restore != nil {
		h.restore()
	}
}

// bounded keeps the deadline of ctx but not its cancellation, and adds the
// handle's own limit.
func (h *TelemetryHandle) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := time.Now().Add(h.timeout)
	base := context.Background()
	if ctx != nil {
		base = context.WithoutCancel(ctx)
		// A deadline that has passed is a cancellation by another name.
		if d, ok := ctx.Deadline(); ok && d.Before(limit) && d.After(time.Now()) {
			limit = d
		}
	}
	return context.WithDeadline(base, limit)
}

// Stats returns the numbers at this moment.
func (h *TelemetryHandle) Stats() (s Stats) {
	if !h.isRecording() {
		return s
	}
	p := h.pipeline
	if p.Traces != nil {
		// One snapshot of the queue; what started is read after it, so that a
		// span never ends before it starts.
		c := p.Traces.Counts()
		s.Ended, s.Exported, s.Dropped, s.Failed, s.Queued = c.Given, c.Exported, c.Dropped, c.Failed, c.Queued
		if !p.Traces.HasQueue() {
			s.Ended = p.Traces.Ended()
		}
		s.Open, s.Started = uint64(p.Traces.Open()), p.Traces.Started()
	}
	if p.Metrics != nil {
		m := p.Metrics.Stats()
		s.Metrics = SignalStats{Exported: m.Points, Lost: m.LostPoints}
	}
	if p.Logs != nil {
		l := p.Logs.Stats()
		s.Logs = SignalStats{Exported: l.Exported, Lost: l.Dropped + l.Failed, Queued: l.Queued}
	}
	return s
}

// OpenSpans returns the sampled spans that are open, earliest start first. The
// slice is the caller's. Spans that start or end meanwhile may be in it or not.
func (h *TelemetryHandle) OpenSpans() []OpenSpan {
	if !h.isRecording() || h.pipeline.Traces == nil {
		return nil
	}
	snapshot := h.pipeline.Traces.OpenSpans()
	open := make([]OpenSpan, len(snapshot))
	for i, s := range snapshot {
		open[i] = OpenSpan{
			Name: s.Name, Group: SpanGroup(s.Group), Start: s.Start, Attributes: s.Attributes,
			TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: s.Parent,
		}
	}
	return open
}
