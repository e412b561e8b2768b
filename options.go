package lens

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
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

// Detection is for [WithDetection]; the zero value is the default. Everything
// is read from the environment and from files under /proc and /sys, and what is
// not there is left out.
type Detection struct {
	// GPUIdentity adds the nv.gpu attributes of the GPU of this process.
	GPUIdentity bool

	// NvidiaSMI runs nvidia-smi for what the driver's files do not say. It is
	// the only subprocess that lens ever starts; it is killed after
	// NvidiaSMITimeout, 5 s when that is zero.
	NvidiaSMI        bool
	NvidiaSMITimeout time.Duration

	// SlurmNewer takes the SLURM attributes of the newer reference, with the
	// nv.slurm names, in place of those of its version 0.2.0.
	SlurmNewer bool

	// ProcessStart adds process.creation.time.
	ProcessStart bool
}

// chosen returns what the options ask for.
func chosen(opts []Option) options {
	o := options{worldSize: 1}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}
