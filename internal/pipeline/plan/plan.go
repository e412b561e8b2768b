// Package plan decides how each signal of one set-up leaves the process. In come
// [Settings], plain values that the root package has resolved; out goes a [Plan],
// which [Plan.Build] starts. Making a plan starts no goroutine, and everything that can
// fail fails here; [Check] tries out what a plan would find.
package plan

import (
	"context"
	"errors"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/export/otlpfile"
	"github.com/nemo-lens/lens/internal/export/wholeline"
	"github.com/nemo-lens/lens/internal/identity/detect"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe"
	"github.com/nemo-lens/lens/internal/pipeline/metricpipe"
	"github.com/nemo-lens/lens/internal/report"
	"github.com/nemo-lens/lens/internal/settings"
)

// The exporters that Settings.Exporter can name.
const (
	exporterOTLP    = "otlp"
	exporterConsole = "console"
	exporterFile    = "file"
	exporterNone    = "none"
)

// Settings are what the configuration, the options and the launcher say about one
// set-up. Zero sizes and times mean the OTEL_* variable, else the default.
type Settings struct {
	Env settings.Lookup // of the set-up, which has read it once

	// What this process is.
	Service, RunID  string
	SharedRunID     string // RunID when other processes can know it, "" when it was drawn here
	Version         string // of lens
	Rank, WorldSize int

	// Exports is false for a process that records to the flight recorder alone, if to
	// anything.
	Exports bool

	// What is recorded.
	Traces, Metrics, Logs bool
	SamplerEnabled        bool // the rank sampler, with SampleRate, comes before the other one
	SampleRate            float64
	SingleTraceID         bool
	RuntimeMetrics        bool

	// The resource, beside what is found out.
	DLRank, NVDLRank                bool // which names the rank has
	User, WandbEntity, WandbProject string
	Attributes                      []attribute.KeyValue // of the application
	Detection                       detect.Options

	// Where it goes.
	Exporter     string
	ExporterSet  bool // by the operator, so that it comes before OTEL_*_EXPORTER
	Endpoint     string
	Own          func(settings.Signal) settings.Own // the settings of OTLP that are lens's own
	File         string                             // of the console and the file exporter
	FileSource   string                             // of File, for an error: " (from NAME)", or empty
	FileSize     int64
	FileKeep     int
	ConsoleTo    io.Writer // in place of standard output
	SpanExporter sdktrace.SpanExporter
	Processors   []sdktrace.SpanProcessor
	Readers      []sdkmetric.Reader

	// The queue in between.
	QueueSize, BatchSize  int
	BatchDelay, QueueWait time.Duration
	Block                 bool

	// What looks at the open spans.
	FlightDir        string
	FlightName       string // the variable or field that gives FlightDir
	FlightSource     string // as FileSource
	StallAfter       time.Duration
	StallAfterGroups map[string]time.Duration
	StallStacks      bool
	Heartbeat        time.Duration
	Strict           bool // see package redact

	Scoped func(context.Context) []attribute.KeyValue // see record.Settings
	Groups func() int                                 // how many span groups are on
	Log    *report.Log
}

// Plan is everything that a pipeline is built from. A file that it has opened for an
// exporter stays open until Close.
type Plan struct {
	Settings

	traces  *pipeline.TraceSettings // each is nil when its signal is off
	metrics *metricpipe.Settings
	logs    *logpipe.Settings

	restore func()            // gives OpenTelemetry's error handler back
	output  *wholeline.Writer // of the console exporters, opened at the first need
	where   string
	lines   *otlpfile.File // of the file exporters, the same way
	opened  []func() error // to be closed in the reverse order

	lastErrors   pipeline.LastErrors
	destinations map[settings.Signal]string // of the signals that are exported
	off          map[settings.Signal]string // why one that the configuration switches on is off
}

func newPlan(s Settings) *Plan {
	return &Plan{Settings: s, restore: func() {}, lastErrors: pipeline.LastErrors{},
		destinations: map[settings.Signal]string{}, off: map[settings.Signal]string{}}
}

// New resolves where every signal that is on goes and makes its exporter. What it
// opened is closed again when it fails.
func New(ctx context.Context, s Settings) (_ *Plan, err error) {
	p := newPlan(s)
	if !s.Exports {
		if s.Traces {
			p.traces = &pipeline.TraceSettings{Sampler: sdktrace.AlwaysSample(), Limits: sdktrace.NewSpanLimits(), Scoped: s.Scoped, Log: s.Log}
		}
		return p, nil
	}
	// Before anything of the SDK is made, which reports to the OTel error handler.
	p.restore = s.Log.Install()
	defer func() {
		if err != nil {
			_ = p.Close()
			p.restore()
		}
	}()
	// Clean, also for the processors and readers of the application.
	res := guard.CleanResource(p.resource())
	if s.Traces {
		if err := p.planTraces(ctx, res); err != nil {
			return nil, err
		}
	}
	if s.Metrics {
		if err := p.planMetrics(ctx, res); err != nil {
			return nil, err
		}
	}
	if s.Logs {
		if err := p.planLogs(ctx, res); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Close closes what the exporters were given to write to.
func (p *Plan) Close() error {
	var errs []error
	for i := len(p.opened) - 1; i >= 0; i-- {
		errs = append(errs, p.opened[i]())
	}
	p.opened = nil
	return errors.Join(errs...)
}

// HasSignals reports whether any signal is on.
func (p *Plan) HasSignals() bool { return p.traces != nil || p.metrics != nil || p.logs != nil }

// Where describes where the signals go, once when they go to one place.
func (p *Plan) Where() string {
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

// Report says of each signal where it goes, or that it is off and why, as arguments
// of slog.
func (p *Plan) Report() (attrs []any) {
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

func (p *Plan) warn(ws []settings.Warning) {
	for _, w := range ws {
		p.Log.Warn(string(w), string(w))
	}
}
