package lens

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/report/nearest"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/internal/settings/table"
)

// Version is the version of the library, as in telemetry.distro.version.
const Version = "0.1.0-dev"

// defaultPrefix is the prefix of the variables that FromEnv reads when the
// caller names none.
const defaultPrefix = "NEMO_LENS"

const (
	serviceNameVar     = "OTEL_SERVICE_NAME"
	defaultServiceName = "nemo"
)

const exporterOTLP = "otlp"

// Bounds of settings that only lens has. Those that it shares with OpenTelemetry's
// variables are in internal/settings.
const (
	defaultFileKeep = 4
	mostFileKeep    = 1000
	leastFileSize   = 64 << 10            // keeps a mistyped size from renaming a file for every batch
	mostStall       = 30 * 24 * time.Hour // after which a span that is open is reported
	mostWait        = 24 * time.Hour
)

// The spellings that Config.RankAttributes can name.
const (
	rankDL   = "dl"
	rankNVDL = "nv.dl"
	rankBoth = "both"
)

// Config says what to record and where to send it. [DefaultConfig] and
// [FromEnv] make one; a Config is a plain value, to be changed before it is
// given to [SetupTelemetry] and not afterwards. The comment of each field
// names its variable, to be read after the prefix, and its default.
type Config struct {
	Enabled          bool    // ENABLED, false: the master switch
	ServiceName      string  // OTEL_SERVICE_NAME (no prefix), else service.name in OTEL_RESOURCE_ATTRIBUTES, else "nemo"
	ExportStrategy   string  // EXPORT_STRATEGY, "single_rank": which ranks export
	ExportRank       int     // EXPORT_RANK, -1: the rank of single_rank; negative is the last rank
	ExportSampleRate float64 // EXPORT_SAMPLE_RATE, 1: share of the ranks, 0 to 1, for "sampled" and the rank sampler
	SamplerEnabled   bool    // SAMPLER_ENABLED, false: put the rank sampler before the configured one
	TracesEnabled    bool    // TRACES_ENABLED, true
	MetricsEnabled   bool    // METRICS_ENABLED, true
	LogsEnabled      bool    // LOGS_ENABLED, false
	SpanGroups       string  // SPAN_GROUPS, "default": the spec of the groups to record
	Exporter         string  // EXPORTER, "otlp": or "console", "file" or "none"
	RunID            string  // RUN_ID: one id for all processes of the run; empty means found or made at set-up
	User             string  // USER_ID
	WandbEntity      string  // WANDB_ENTITY (no prefix)
	WandbProject     string  // WANDB_PROJECT (no prefix)

	// Groups is the vocabulary that SpanGroups is resolved against; nil means
	// BaseGroups.
	Groups GroupResolver

	// Endpoint is where the otlp exporter sends, ENDPOINT, in the forms of
	// OTEL_EXPORTER_OTLP_ENDPOINT; Protocol is "grpc" or "http/protobuf",
	// PROTOCOL; Headers go with every request, HEADERS, as "key=value" pairs
	// separated by commas, values percent-encoded. With an Endpoint none of the
	// OTEL_EXPORTER_OTLP_* variables has a part in the export, so that what
	// they say for another product neither changes it nor leaks to it. Empty
	// means those variables.
	Endpoint string
	Protocol string
	Headers  string // never shown

	// Certificate names a PEM file with the authorities to trust instead of the
	// system's, CERTIFICATE; ClientCertificate and ClientKey name PEM files with
	// what the client shows of itself, CLIENT_CERTIFICATE and CLIENT_KEY.
	// Insecure, INSECURE, is true for plaintext and false for TLS to an endpoint
	// whose scheme does not decide it; nil means plaintext to this host and TLS
	// to others. Behind each stands the OTEL_EXPORTER_OTLP_* variable of that
	// name, unless there is an Endpoint.
	Certificate       string
	ClientCertificate string
	ClientKey         string
	Insecure          *bool

	// SingleTraceID makes one trace of the whole job, ENABLE_SINGLE_TRACEID,
	// false: every process derives the same trace id from the SLURM job, else
	// from RunID. Restarts of the job go on in the same trace.
	SingleTraceID bool

	// RankAttributes is how rank and world size are spelt in the resource,
	// RANK_ATTRIBUTES: "dl" (dl.rank, as NeMo Lens 0.2.0, the default),
	// "nv.dl" (nv.dl.rank, as the newer one) or "both".
	RankAttributes string

	// RuntimeMetrics adds the metrics of the Go runtime, RUNTIME_METRICS, false.
	RuntimeMetrics bool

	// ExporterFile is where the console exporter and the file exporter write,
	// EXPORTER_FILE. The file is appended to. {run_id}, {rank} and {pid} in the
	// name become those of the process. Empty means standard output for the
	// console exporter and nemo-lens-{run_id}-{rank}-{pid}.jsonl, in the working
	// directory, for the file exporter, which writes OTLP JSON lines as the
	// OpenTelemetry Collector's file exporter does.
	ExporterFile string

	// ExporterFileSize is the size in bytes above which the file of the file
	// exporter is renamed, with .1 behind its name, and a new one is begun,
	// EXPORTER_FILE_SIZE, 0: never. ExporterFileKeep is how many of these are
	// kept, EXPORTER_FILE_KEEP, 4; older ones are deleted. Files of other
	// exporters are not rotated.
	ExporterFileSize int64
	ExporterFileKeep int

	// FlightDir is the directory of the flight recorder, FLIGHT_DIR, none. Each
	// process keeps a file of 84 KB there with the spans that are open and the last
	// that finished, right at every instant, so that nemo-lens recover can tell what
	// it was doing when it was killed. Ranks that do not export record to it as
	// well. A directory in memory, such as one below /dev/shm, is the fastest; it
	// outlives the process, not the machine. A directory that cannot be used is a
	// warning. Not on Windows.
	FlightDir string

	// StallAfter is how long a span may be open before it is reported, once: a
	// warning, an event on the span and the metric nemo.lens.spans.stalled.
	// STALL_AFTER, 0: never. StallAfterGroups has groups with times of their own, 0
	// for never; the variable takes them as in "10m,step=30s,job=0". StallStacks
	// adds the stacks of all goroutines to the warning, at most every ten minutes,
	// STALL_STACKS, false.
	StallAfter       time.Duration
	StallAfterGroups map[SpanGroup]time.Duration
	StallStacks      bool

	// HeartbeatEvery shows a span while it goes on: each time it has been open for
	// so much longer, a child of it named nemo.span.heartbeat is exported, HEARTBEAT,
	// 0: never. At least a second.
	HeartbeatEvery time.Duration

	// ShutdownTimeout limits the whole of Shutdown, SHUTDOWN_TIMEOUT, 5 s. Zero
	// and less mean the default: it is never unlimited.
	ShutdownTimeout time.Duration

	// QueueSize, BatchSize, BatchDelay and QueueWait shape the queue between
	// the end of a span and its export: QUEUE_SIZE spans are held at most,
	// BATCH_SIZE are sent at a time, BATCH_DELAY is the longest that a span
	// waits for a batch to fill, and QUEUE_WAIT is how long in total the ends
	// of spans may wait while the queue is full, before spans are dropped and
	// counted. Zero means the OTEL_BSP_* variable, else the default.
	QueueSize  int
	BatchSize  int
	BatchDelay time.Duration
	QueueWait  time.Duration

	// BlockOnFullQueue makes the end of a span wait for room for as long as it
	// takes, BLOCK_ON_FULL_QUEUE, false. It is for tests and batch jobs that
	// would rather be slow than lose a span.
	BlockOnFullQueue bool

	origins table.Origins // of what FromEnv read
}

// settings binds every setting to its variable and its bounds. It is the one list of
// what lens reads under its prefix.
func (c *Config) settings() []table.Setting {
	return []table.Setting{
		table.Bool("ENABLED", &c.Enabled),
		table.Text(serviceNameVar, &c.ServiceName).Bare(),
		table.Text("EXPORT_STRATEGY", &c.ExportStrategy),
		table.Rank("EXPORT_RANK", &c.ExportRank),
		table.Rate("EXPORT_SAMPLE_RATE", &c.ExportSampleRate),
		table.Bool("SAMPLER_ENABLED", &c.SamplerEnabled),
		table.Bool("TRACES_ENABLED", &c.TracesEnabled),
		table.Bool("METRICS_ENABLED", &c.MetricsEnabled),
		table.Bool("LOGS_ENABLED", &c.LogsEnabled),
		table.Text("SPAN_GROUPS", &c.SpanGroups),
		table.OneOf("EXPORTER", &c.Exporter, `unknown exporter; want "otlp", "console", "file" or "none", in lower case`,
			exporterOTLP, "console", "file", "none"),
		table.Endpoint("ENDPOINT", &c.Endpoint),
		table.Text("PROTOCOL", &c.Protocol),
		table.Secret("HEADERS", &c.Headers),
		table.Text("CERTIFICATE", &c.Certificate),
		table.Text("CLIENT_CERTIFICATE", &c.ClientCertificate),
		table.Text("CLIENT_KEY", &c.ClientKey),
		table.OptionalBool("INSECURE", &c.Insecure),
		table.Bool("ENABLE_SINGLE_TRACEID", &c.SingleTraceID),
		table.OneOf("RANK_ATTRIBUTES", &c.RankAttributes, `want "dl", "nv.dl" or "both"`, rankDL, rankNVDL, rankBoth, ""),
		table.Bool("RUNTIME_METRICS", &c.RuntimeMetrics),
		table.Text("EXPORTER_FILE", &c.ExporterFile),
		table.Size("EXPORTER_FILE_SIZE", &c.ExporterFileSize, leastFileSize, "no rotation"),
		table.Count("EXPORTER_FILE_KEEP", &c.ExporterFileKeep, mostFileKeep, "files"),
		table.Text("RUN_ID", &c.RunID),
		table.Text("USER_ID", &c.User),
		table.Text("WANDB_ENTITY", &c.WandbEntity).Bare().Raw(),
		table.Text("WANDB_PROJECT", &c.WandbProject).Bare().Raw(),
		table.Text("FLIGHT_DIR", &c.FlightDir),
		table.Durations("STALL_AFTER", &c.StallAfter, &c.StallAfterGroups, mostStall, validName),
		table.Bool("STALL_STACKS", &c.StallStacks),
		table.Duration("HEARTBEAT", &c.HeartbeatEvery, time.Second, mostStall, "never"),
		table.Duration("SHUTDOWN_TIMEOUT", &c.ShutdownTimeout, 0, mostWait, "the default").Unchecked(),
		table.Count("QUEUE_SIZE", &c.QueueSize, envtext.MaxQueueSize, "spans"),
		table.Count("BATCH_SIZE", &c.BatchSize, envtext.MaxBatchSize, "spans"),
		table.Duration("BATCH_DELAY", &c.BatchDelay, 0, envtext.MaxBatchDelay, "the default"),
		table.Duration("QUEUE_WAIT", &c.QueueWait, 0, mostWait, "the default"),
		table.Bool("BLOCK_ON_FULL_QUEUE", &c.BlockOnFullQueue),
	}
}

// DefaultConfig returns the configuration that an empty environment gives.
func DefaultConfig() Config {
	return Config{
		ServiceName:      defaultServiceName,
		ExportStrategy:   "single_rank",
		ExportRank:       -1,
		ExportSampleRate: 1,
		TracesEnabled:    true,
		MetricsEnabled:   true,
		SpanGroups:       "default",
		Exporter:         exporterOTLP,
		RankAttributes:   rankDL,
		ShutdownTimeout:  5 * time.Second,
	}
}

// FromEnv reads the configuration from the environment. For each setting it
// takes the variable <prefix>_KEY, else <fallbackPrefix>_KEY, else the
// default; a variable that is unset, empty or blank counts as not set, and one
// pair of quotes around its text, which docker --env-file keeps, is taken off. An
// empty prefix means "NEMO_LENS", an empty fallbackPrefix means no fallback,
// and a nil groupCls means [BaseGroups].
//
// All variables that cannot be read are reported in one joined error, each
// with the name of the variable that the text came from, the text, and what is
// accepted. The Config returned beside it holds every other setting, and the
// default in place of each bad one. Variables under a prefix that lens does
// not know are reported as warnings by [SetupTelemetry].
//
// Group specs, strategies and exporters are not checked here but by
// [Config.Validate], which SetupTelemetry calls.
func FromEnv(prefix, fallbackPrefix string, groupCls GroupResolver) (Config, error) {
	return configFrom(envtext.Process(), prefix, fallbackPrefix, groupCls)
}

func configFrom(env envtext.Environment, prefix, fallbackPrefix string, groupCls GroupResolver) (Config, error) {
	if prefix == "" {
		prefix = defaultPrefix
	}
	prefixes := []string{prefix}
	if fallbackPrefix != "" && fallbackPrefix != prefix {
		prefixes = append(prefixes, fallbackPrefix)
	}
	c := DefaultConfig()
	c.Groups = groupCls
	var err error
	c.origins, err = table.Read(env, c.settings(), prefixes, isDeclared)
	if c.origins.Variable(serviceNameVar) == "" {
		if name, variable := identity.ServiceName(env.Lookup); name != "" {
			c.ServiceName = name
			c.origins.SetFrom(serviceNameVar, variable)
		}
	}
	return c, err
}

var declared sync.Map // names of variables

// DeclareVariables tells lens of variables under a prefix given to [FromEnv]
// that the application reads itself, so that they are not warned about as
// misspelt. Give full names, before FromEnv is called.
func DeclareVariables(names ...string) {
	for _, name := range names {
		declared.Store(name, true)
	}
}

func isDeclared(name string) bool {
	_, ok := declared.Load(name)
	return ok
}

// ResolvedSpanGroups returns the groups that SpanGroups selects in Groups at
// this moment.
func (c Config) ResolvedSpanGroups() (GroupSet, error) {
	return c.resolver().Resolve(c.SpanGroups)
}

func (c Config) resolver() GroupResolver {
	switch g := c.Groups.(type) {
	case nil:
		return BaseGroups
	case *GroupClass:
		if g == nil {
			return BaseGroups
		}
	case *GroupRegistry:
		if g == nil {
			return BaseGroups
		}
	}
	return c.Groups
}

// Validate reports everything that SetupTelemetry would refuse in c itself, in
// one joined error: a sample rate outside 0 to 1, an exporter that lens does
// not have, an export strategy that is not registered, a negative size or
// time, and, when Groups is a fixed class, entries of SpanGroups that name
// nothing.
func (c Config) Validate() error {
	errs := c.origins.Check(c.settings())
	if known := RegisteredExportStrategies(); !slices.Contains(known, c.ExportStrategy) {
		errs = append(errs, c.origins.Bad("EXPORT_STRATEGY", "", strconv.Quote(c.ExportStrategy), fmt.Sprintf("Unknown export_strategy%s; registered are %s",
			nearest.DidYouMean(c.ExportStrategy, known), strings.Join(known, ", "))))
	}
	if _, err := c.ResolvedSpanGroups(); err != nil && !lenient(c.resolver(), err) {
		errs = append(errs, fmt.Errorf("lens: span_groups%s: %w", c.origins.From("SPAN_GROUPS"), err))
	}
	return errors.Join(errs...)
}

// lenient reports whether err is what a registry says of entries that nobody
// has registered yet: they are pending, not wrong.
func lenient(r GroupResolver, err error) bool {
	var unknown *UnknownGroupError
	_, registry := r.(*GroupRegistry)
	return registry && errors.As(err, &unknown)
}

// String returns every setting on one line, each with the variable that it
// came from, "default", or "code" when the application changed it. It holds no
// secret: of headers it says only whether there are any, and user-info in an
// endpoint, which set-up refuses, is left out.
func (c Config) String() string {
	parts := make([]string, 0, 32)
	for _, s := range c.Settings() {
		parts = append(parts, fmt.Sprintf("%s=%s (%s)", s.Name, s.Value, s.Source))
	}
	return strings.Join(parts, " ")
}

// Setting is one setting of a [Config].
type Setting struct {
	Name   string // in lower case, as "span_groups"
	Value  string // text is quoted, and a secret is "[REDACTED]"
	Source string // the variable that it came from, "default", or "code" when the application changed it
}

// Settings returns every setting with where it came from. It holds no secret.
func (c Config) Settings() []Setting {
	def := DefaultConfig()
	rows := c.origins.Rows(c.settings(), def.settings())
	out := make([]Setting, len(rows))
	for i, row := range rows {
		out[i] = Setting(row)
	}
	return out
}

// GoString is String, marked as a Config.
func (c Config) GoString() string { return "lens.Config{" + c.String() + "}" }

// Format writes String, whatever the verb, so that none prints the fields raw.
func (c Config) Format(s fmt.State, verb rune) {
	text := c.String()
	if verb == 'v' && s.Flag('#') {
		text = c.GoString()
	}
	_, _ = io.WriteString(s, text)
}

// MarshalText is String, for JSON and for slog, which would else write the
// headers. A Config is not read back from it.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
