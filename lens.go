//go:build !lens_noop

package lens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	otellog "go.opentelemetry.io/otel/log"
	nooplog "go.opentelemetry.io/otel/log/noop"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/detect"
	"github.com/nemo-lens/lens/internal/identity/rankenv"
	"github.com/nemo-lens/lens/internal/identity/strategy"
	"github.com/nemo-lens/lens/internal/pipeline/globals"
	"github.com/nemo-lens/lens/internal/pipeline/plan"
	"github.com/nemo-lens/lens/internal/record/scoped"
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

// SetupTelemetry starts telemetry as cfg says. Call it once, early, and defer
// the Shutdown of the handle.
//
// When cfg is disabled, OTEL_SDK_DISABLED is true, or this rank does not
// export, it starts nothing, every group is off, and one line at level Debug
// says why; with [Config].FlightDir a rank that does not export records its spans
// to the file of the flight recorder alone. Otherwise everything is resolved and checked first, so that an
// error leaves nothing behind, and one line at level Info says what is exported
// where.
func SetupTelemetry(ctx context.Context, cfg Config, opts ...Option) (*TelemetryHandle, error) {
	if ctx == nil {
		return nil, errors.New("lens: SetupTelemetry: the context is nil; pass context.Background()")
	}
	setupMu.Lock()
	defer setupMu.Unlock()
	r := resolveSetup(cfg, opts)
	if r.off() != "" {
		return r.leaveOff(), nil
	}
	if Current() != nil && !r.allowReinit {
		return nil, ErrAlreadySetUp
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	p, err := plan.New(ctx, r.plan())
	if err != nil {
		return nil, err
	}
	// From here on nothing fails.
	h := &TelemetryHandle{recording: p.Build(), endpoint: p.Where(), enabled: true,
		runID: r.runID, service: r.cfg.ServiceName, rank: r.rank, worldSize: r.worldSize, timeout: r.timeout}
	publish(setup{handle: h, recording: h.recording, strict: r.strict, log: r.log})
	if h.IsExporting() {
		h.recording.InstallGlobals(r.global, &providers)
	}
	traces, _ := activeTraces()
	if err := useGroups(cfg.Groups, cfg.SpanGroups, traces == nil); err != nil {
		// The check has resolved the same spec; only a resolver that changes its
		// mind comes here.
		warn("span groups", err.Error())
	}
	r.report(p)
	return h, nil
}

// resolution is a set-up before anything is built: what the configuration, the options
// and the environment say together.
type resolution struct {
	options
	cfg         Config
	env         settings.Lookup // the environment, read once
	log         *report.Log
	runID       string
	runIDSource identity.RunIDSource
	disabled    bool // by OTEL_SDK_DISABLED
	exports     bool
	warnings    []envtext.Warning
}

func resolveSetup(cfg Config, opts []Option) *resolution {
	r := &resolution{options: chosen(opts), cfg: cfg, env: envtext.Process().Lookup}
	r.log = report.New(r.logger)
	r.runID, r.runIDSource = identity.RunID(cfg.RunID, r.env)
	r.disabled, r.warnings = settings.SDKDisabled(r.env)
	for _, text := range cfg.origins.Warnings {
		r.warnings = append(r.warnings, envtext.Warning(text))
	}
	return r
}

// off says why nothing is to be set up, or nothing.
func (r *resolution) off() string {
	switch {
	case r.disabled:
		return "OTEL_SDK_DISABLED is true"
	case !r.cfg.Enabled:
		return "ENABLED is false"
	}
	return ""
}

// leaveOff is the set-up of a process with telemetry switched off.
func (r *resolution) leaveOff() *TelemetryHandle {
	if Current() == nil {
		_ = useGroups(r.cfg.Groups, "", true)
	}
	if r.logger != nil {
		r.log.Debug("lens: telemetry is off", "why", r.off(), "run_id", r.runID)
	}
	return &TelemetryHandle{runID: r.runID}
}

// check finds everything that can be wrong before anything is built, decides whether this
// process exports, and logs the warnings.
func (r *resolution) check() (err error) {
	if err := r.checkConfig(); err != nil {
		return err
	}
	if r.runIDSource != identity.RunIDRandom {
		r.cfg.RunID = r.runID
	} else if r.worldSize > 1 && r.rank == 0 {
		r.log.Warn("run id", fmt.Sprintf("the %d processes of the job have random run ids, each its own: set %s, torchrun's --rdzv-id, or "+
			"nemo.run.id in OTEL_RESOURCE_ATTRIBUTES to one id for all of them", r.worldSize, r.cfg.origins.Giver("RUN_ID", "Config.RunID", false)))
	}
	r.cfg.ServiceName = r.cfg.effectiveServiceName(r.env)
	if r.exports, err = r.exportsAt(r.rank); err != nil {
		return err
	}
	r.exports = r.exports && (r.cfg.TracesEnabled || r.cfg.MetricsEnabled || r.cfg.LogsEnabled)
	r.warn(r.warnings)
	if r.timeout <= 0 {
		r.timeout = r.cfg.ShutdownTimeout
	}
	if r.timeout <= 0 {
		r.timeout = DefaultConfig().ShutdownTimeout
	}
	if r.timeout < 50*time.Millisecond {
		r.log.Warn("shutdown timeout", fmt.Sprintf("the shutdown timeout is %s%s: spans that are queued will hardly be sent in it; a number without a unit is milliseconds",
			r.timeout, r.cfg.origins.From("SHUTDOWN_TIMEOUT")))
	}
	return nil
}

// checkConfig checks the configuration by itself and finds the rank.
func (r *resolution) checkConfig() error {
	if r.strategy != nil {
		// An override is not looked up, so the configured name need not exist.
		r.cfg.ExportStrategy = "all_ranks"
	}
	if err := r.cfg.Validate(); err != nil {
		return err
	}
	return r.resolveRank()
}

func (r *resolution) resolveRank() error {
	if r.rankFromEnv || !r.rankGiven {
		id, warnings, err := rankenv.Resolve(r.env)
		if err != nil && r.rankFromEnv {
			return err
		}
		r.warn(warnings)
		if err != nil {
			why := strings.ReplaceAll(strings.ReplaceAll(err.Error(), "\n", "; "), "lens: ", "")
			r.log.Warn("rank", "the rank of this process cannot be told, so that it counts as rank 0 of 1: "+why)
		}
		if id.Found {
			r.rank, r.worldSize = id.Rank, id.WorldSize
		}
	}
	if r.rank < 0 || r.worldSize < 1 || r.rank >= r.worldSize {
		return fmt.Errorf("lens: rank %d of %d: want 0 <= rank < world size", r.rank, r.worldSize)
	}
	return nil
}

// exportsAt reports whether the process with that rank exports.
func (r *resolution) exportsAt(rank int) (bool, error) {
	cfg, s := r.cfg, r.strategy
	if s == nil {
		s = lookupStrategy(cfg.ExportStrategy)
	}
	if s == nil {
		return false, fmt.Errorf("lens: Unknown export_strategy %q", cfg.ExportStrategy)
	}
	ok, err := s(cfg, rank, r.worldSize)
	if err != nil {
		return false, fmt.Errorf("lens: export strategy %q for rank %d of %d: %w", cfg.ExportStrategy, rank, r.worldSize, err)
	}
	if r.strategy == nil && strategy.NobodyExports(cfg.ExportStrategy, cfg.ExportRank, cfg.ExportSampleRate, rank, r.worldSize) {
		r.log.Warn("no rank exports", fmt.Sprintf("no rank exports: strategy %s, EXPORT_RANK %d, EXPORT_SAMPLE_RATE %g, world size %d; "+
			"use a rank below the world size, or -1 for the last, or a higher rate", cfg.ExportStrategy, cfg.ExportRank, cfg.ExportSampleRate, r.worldSize))
	}
	return ok, nil
}

func (r *resolution) warn(ws []envtext.Warning) {
	for _, w := range ws {
		r.log.Warn(string(w), string(w))
	}
}

// plan returns the plain values that the export is planned with.
func (r *resolution) plan() plan.Settings {
	cfg := r.cfg
	stalls := make(map[string]time.Duration, len(cfg.StallAfterGroups))
	for g, d := range cfg.StallAfterGroups {
		stalls[string(g)] = d
	}
	detection := detect.Options{
		Lookup: r.env, GPUIdentity: r.detection.GPUIdentity, NvidiaSMI: r.detection.NvidiaSMI, NvidiaSMITimeout: r.detection.NvidiaSMITimeout,
		ProcessStart: r.detection.ProcessStart,
	}
	if r.detection.SlurmNewer {
		detection.Slurm = detect.SlurmNewer
	}
	return plan.Settings{
		Env: r.env, Service: cfg.ServiceName, RunID: r.runID, SharedRunID: cfg.RunID, Version: Version, Rank: r.rank, WorldSize: r.worldSize,
		Exports: r.exports, Traces: cfg.TracesEnabled, Metrics: cfg.MetricsEnabled, Logs: cfg.LogsEnabled,
		SamplerEnabled: cfg.SamplerEnabled, SampleRate: cfg.ExportSampleRate, SingleTraceID: cfg.SingleTraceID, RuntimeMetrics: cfg.RuntimeMetrics,
		DLRank: cfg.RankAttributes != rankNVDL, NVDLRank: cfg.RankAttributes == rankNVDL || cfg.RankAttributes == rankBoth,
		User: cfg.User, WandbEntity: cfg.WandbEntity, WandbProject: cfg.WandbProject, Attributes: r.attrs, Detection: detection,
		Exporter: cfg.Exporter, ExporterSet: cfg.origins.Variable("EXPORTER") != "", Endpoint: cfg.Endpoint, Own: cfg.otlp,
		File: cfg.ExporterFile, FileSource: cfg.origins.From("EXPORTER_FILE"), FileSize: cfg.ExporterFileSize, FileKeep: cmp.Or(cfg.ExporterFileKeep, defaultFileKeep),
		ConsoleTo: r.consoleWriter, SpanExporter: r.exporter, Processors: r.processors, Readers: r.readers,
		QueueSize: cfg.QueueSize, BatchSize: cfg.BatchSize, BatchDelay: cfg.BatchDelay, QueueWait: cfg.QueueWait, Block: cfg.BlockOnFullQueue,
		FlightDir: cfg.FlightDir, FlightName: cfg.origins.Giver("FLIGHT_DIR", "Config.FlightDir", false), FlightSource: cfg.origins.From("FLIGHT_DIR"),
		StallAfter: cfg.StallAfter, StallAfterGroups: stalls, StallStacks: cfg.StallStacks, Heartbeat: cfg.HeartbeatEvery,
		Strict: r.strict, Scoped: scoped.Attributes, Groups: func() int { return EnabledSpanGroups().Len() }, Log: r.log,
	}
}

// effectiveServiceName is the name that the application gave in code, else the
// operator's, else the default. A name in code that is the default cannot be
// told from none.
func (c Config) effectiveServiceName(lookup envtext.Lookup) string {
	if c.ServiceName != "" && (c.ServiceName != defaultServiceName || c.origins.Variable(serviceNameVar) != "") {
		return c.ServiceName
	}
	name, _ := identity.ServiceName(lookup)
	return cmp.Or(name, defaultServiceName)
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
		own[s.key] = settings.Setting{Name: c.origins.Giver(s.key, "Config."+s.field, s.text != ""), Text: s.text}
	}
	off := map[settings.Signal]string{
		settings.Traces:  c.origins.Giver("TRACES_ENABLED", "Config.TracesEnabled", false),
		settings.Metrics: c.origins.Giver("METRICS_ENABLED", "Config.MetricsEnabled", false),
		settings.Logs:    c.origins.Giver("LOGS_ENABLED", "Config.LogsEnabled", false),
	}
	own["OFF"] = settings.Setting{Name: off[signal] + " to false"}
	return own
}

// report logs what has been set up.
func (r *resolution) report(p *plan.Plan) {
	who := []any{"run_id", r.runID, "rank", r.rank, "world_size", r.worldSize}
	switch {
	case !r.exports:
		r.log.Debug("lens: telemetry is on, and this process exports nothing", append([]any{"strategy", r.cfg.ExportStrategy}, who...)...)
	case !p.HasSignals():
		r.log.Warn("no signal", "lens: telemetry is on, and nothing is exported", p.Report()...)
	default:
		attrs := append(append(p.Report(), "service", r.cfg.ServiceName), who...)
		r.log.Info("lens: telemetry is on", append(attrs, "groups", EnabledSpanGroups().String())...)
	}
}

// mostRanks bounds the ranks that Check asks the export strategy about.
const mostRanks = 1 << 20

// Check resolves cfg and opts as [SetupTelemetry] would, sets nothing up, and asks each
// receiver with an empty request whether it would take what is sent. timeout bounds
// each of these questions; 0 asks none. A program with span groups of its own can have
// a flag for it; nemo-lens check is the one for programs without.
//
// A file that does not exist yet is opened and taken away again.
func Check(ctx context.Context, cfg Config, timeout time.Duration, opts ...Option) CheckReport {
	var heard report.Collector
	r := resolveSetup(cfg, append(slices.Clip(opts), WithLogger(slog.New(&heard))))
	c := CheckReport{Config: cfg, RunID: r.runID}
	switch {
	case r.disabled:
		c.Off = "OTEL_SDK_DISABLED is true: take it away"
	case !cfg.Enabled:
		c.Off = "telemetry is off: set " + cfg.origins.Giver("ENABLED", "Config.Enabled", false) + " to true"
	}
	r.warn(r.warnings)
	invalid := r.cfg.Validate()
	for _, err := range []error{invalid, r.resolveRank()} {
		if err != nil {
			c.Problems = append(c.Problems, err)
		}
	}
	c.Rank, c.WorldSize = r.rank, r.worldSize
	groups, err := cfg.ResolvedSpanGroups()
	c.Groups = groups
	if err != nil && lenient(cfg.resolver(), err) {
		r.log.Warn("span groups", err.Error())
	}
	if invalid == nil {
		if c.ExportingRanks, err = r.exportingRanks(); err != nil {
			c.Problems = append(c.Problems, err)
		}
		for _, s := range plan.Check(ctx, r.plan(), timeout) {
			c.Signals = append(c.Signals, SignalCheck(s))
		}
	}
	c.Warnings = heard.Texts()
	return c
}

// exportingRanks asks the strategy about every rank of the job.
func (r *resolution) exportingRanks() (ranks []int, err error) {
	for rank := range min(r.worldSize, mostRanks) {
		ok, err := r.exportsAt(rank)
		if err != nil {
			return ranks, err
		}
		if ok {
			ranks = append(ranks, rank)
		}
	}
	return ranks, nil
}

// Current returns the handle of the enabled set-up that has not been shut down,
// or nil: for a library that has to know whether the application has set telemetry
// up, and must not shut it down. It takes no lock.
func Current() *TelemetryHandle { return published.Load().handle }

// TelemetryHandle is a running set-up. Every method is safe on a nil handle
// and for concurrent use.
type TelemetryHandle struct {
	recording *plan.Running // nil when nothing is recorded
	enabled   bool
	endpoint  string
	runID     string
	service   string
	rank      int
	worldSize int
	timeout   time.Duration
	once      sync.Once
}

// Tracer returns a tracer with the scope "nemo.lens"; it is not gated. Without
// an export, and after Shutdown, its spans record nothing.
func (h *TelemetryHandle) Tracer() trace.Tracer {
	own := globals.While{Scope: scopeLens}
	if h.isRecording() && h.recording.Traces != nil {
		own.To, own.Active = h.recording.Traces.Own(scopeLens), func() bool { return published.Load().recording == h.recording }
	}
	return own
}

// Meter returns a meter with the scope "nemo.lens", of [TelemetryHandle.MeterProvider].
func (h *TelemetryHandle) Meter() metric.Meter { return h.MeterProvider().Meter(scopeLens) }

// MeterProvider returns the provider of metrics, one that records nothing when
// they are off in this set-up. Its instruments and callbacks may be kept: after
// Shutdown they record nothing, and after another set-up they record into that.
// The global provider, when it is lens's, is the same one. Callbacks that the
// same code registers again after another set-up replace those from before.
func (h *TelemetryHandle) MeterProvider() metric.MeterProvider {
	if !h.IsExporting() || h.recording.Metrics == nil {
		return noopmetric.NewMeterProvider()
	}
	return &providers.Meters
}

// LoggerProvider returns the provider of log records, for the handlers of
// package lenslog, one that records nothing when they are off in this set-up.
// Its loggers may be kept over set-ups, as the instruments of MeterProvider.
func (h *TelemetryHandle) LoggerProvider() otellog.LoggerProvider {
	if !h.IsExporting() || h.recording.Logs == nil {
		return nooplog.NewLoggerProvider()
	}
	return &providers.Loggers
}

// IsExporting reports whether this process exports anything: spans, metrics or
// logs.
func (h *TelemetryHandle) IsExporting() bool { return h.isRecording() && !h.recording.FileOnly }

// isRecording reports whether anything is recorded, for export or for the flight
// recorder alone.
func (h *TelemetryHandle) isRecording() bool { return h != nil && h.recording != nil }

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
	return h.recording.ForceFlush(ctx)
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
	if h.recording == nil {
		return nil
	}
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	return h.recording.Shutdown(ctx)
}

func (h *TelemetryHandle) canShutDown() bool { return h != nil }

// detach closes the gate before anything else, so that nothing records into a
// pipeline that is going away.
func (h *TelemetryHandle) detach() {
	setupMu.Lock()
	defer setupMu.Unlock()
	if Current() == h {
		if h.recording != nil {
			h.recording.GateCloses()
		}
		leaveGroups()
		publish(setup{log: log()})
	}
	if published.Load().recording == nil { // not while a later set-up, see WithAllowReinit, needs them
		globals.Restore()
	}
	if h.recording != nil {
		h.recording.Detach()
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
	p := h.recording
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
	if !h.isRecording() || h.recording.Traces == nil {
		return nil
	}
	snapshot := h.recording.Traces.OpenSpans()
	open := make([]OpenSpan, len(snapshot))
	for i, s := range snapshot {
		open[i] = OpenSpan{
			Name: s.Name, Group: SpanGroup(s.Group), Start: s.Start, Attributes: s.Attributes,
			TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: s.Parent,
		}
	}
	return open
}
